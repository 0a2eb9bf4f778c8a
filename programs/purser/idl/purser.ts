/**
 * Program IDL in camelCase format in order to be used in JS/TS.
 *
 * Note that this is only a type helper and is not the actual IDL. The original
 * IDL stands beside it as `purser.json`.
 */
export type Purser = {
  "address": "PujGKaV9Hdg61jtnWf7vFc2ptse8aFEuEAqr81Gv1rx",
  "metadata": {
    "name": "purser",
    "version": "0.1.0",
    "spec": "0.1.0",
    "description": "Agent accounts whose spending policy is enforced inside the transfer instruction"
  },
  "instructions": [
    {
      "name": "acceptAdmin",
      "docs": [
        "Takes over the admin's place. Signed by the pending admin."
      ],
      "discriminator": [
        112,
        42,
        45,
        90,
        116,
        181,
        13,
        170
      ],
      "accounts": [
        {
          "name": "pendingAdmin",
          "signer": true,
          "relations": [
            "operator"
          ]
        },
        {
          "name": "operator",
          "writable": true
        }
      ],
      "args": []
    },
    {
      "name": "closeAgent",
      "docs": [
        "Closes an agent account that is empty and has been quiet for 24 hours. Admin only."
      ],
      "discriminator": [
        52,
        185,
        104,
        145,
        157,
        30,
        87,
        237
      ],
      "accounts": [
        {
          "name": "admin",
          "docs": [
            "Gets the rent back."
          ],
          "writable": true,
          "signer": true
        },
        {
          "name": "operator",
          "relations": [
            "agent"
          ]
        },
        {
          "name": "agent",
          "writable": true
        },
        {
          "name": "tokenAccount",
          "writable": true
        },
        {
          "name": "tokenProgram",
          "address": "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
        }
      ],
      "args": []
    },
    {
      "name": "closeDraft",
      "docs": [
        "Gives up a draft."
      ],
      "discriminator": [
        79,
        18,
        68,
        238,
        240,
        145,
        233,
        67
      ],
      "accounts": [
        {
          "name": "authority",
          "writable": true,
          "signer": true
        },
        {
          "name": "operator",
          "relations": [
            "agent"
          ]
        },
        {
          "name": "agent",
          "relations": [
            "draft"
          ]
        },
        {
          "name": "draft",
          "writable": true
        }
      ],
      "args": []
    },
    {
      "name": "createAgent",
      "docs": [
        "Creates an agent account with an open policy, and its USDC token account."
      ],
      "discriminator": [
        143,
        66,
        198,
        95,
        110,
        85,
        83,
        249
      ],
      "accounts": [
        {
          "name": "authority",
          "docs": [
            "Policy authority or admin; pays for the accounts."
          ],
          "writable": true,
          "signer": true
        },
        {
          "name": "operator"
        },
        {
          "name": "agent",
          "docs": [
            "Lamports sent ahead to this address are no obstacle: `init` then tops up, allocates and assigns."
          ],
          "writable": true,
          "pda": {
            "seeds": [
              {
                "kind": "const",
                "value": [
                  97,
                  103,
                  101,
                  110,
                  116
                ]
              },
              {
                "kind": "account",
                "path": "operator"
              },
              {
                "kind": "arg",
                "path": "agentId"
              }
            ]
          }
        },
        {
          "name": "tokenAccount",
          "writable": true
        },
        {
          "name": "usdcMint",
          "relations": [
            "operator"
          ]
        },
        {
          "name": "tokenProgram",
          "address": "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
        },
        {
          "name": "associatedTokenProgram",
          "address": "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
        },
        {
          "name": "systemProgram",
          "address": "11111111111111111111111111111111"
        }
      ],
      "args": [
        {
          "name": "agentId",
          "type": {
            "array": [
              "u8",
              16
            ]
          }
        }
      ]
    },
    {
      "name": "createOperator",
      "docs": [
        "Signed by the admin, who pays for the account."
      ],
      "discriminator": [
        145,
        40,
        238,
        75,
        181,
        252,
        59,
        11
      ],
      "accounts": [
        {
          "name": "admin",
          "docs": [
            "Signs, so that nobody can take an operator address before its admin."
          ],
          "writable": true,
          "signer": true
        },
        {
          "name": "operator",
          "writable": true,
          "pda": {
            "seeds": [
              {
                "kind": "const",
                "value": [
                  111,
                  112,
                  101,
                  114,
                  97,
                  116,
                  111,
                  114
                ]
              },
              {
                "kind": "account",
                "path": "admin"
              },
              {
                "kind": "arg",
                "path": "id"
              }
            ]
          }
        },
        {
          "name": "usdcMint"
        },
        {
          "name": "systemProgram",
          "address": "11111111111111111111111111111111"
        }
      ],
      "args": [
        {
          "name": "id",
          "type": "u64"
        },
        {
          "name": "keys",
          "type": {
            "defined": {
              "name": "operatorKeys"
            }
          }
        }
      ]
    },
    {
      "name": "openDraft",
      "docs": [
        "Opens a draft for an allowlist that does not fit a transaction."
      ],
      "discriminator": [
        214,
        134,
        134,
        193,
        33,
        117,
        94,
        95
      ],
      "accounts": [
        {
          "name": "authority",
          "docs": [
            "Policy authority or admin; pays for the draft."
          ],
          "writable": true,
          "signer": true
        },
        {
          "name": "operator",
          "relations": [
            "agent"
          ]
        },
        {
          "name": "agent"
        },
        {
          "name": "draft",
          "writable": true,
          "pda": {
            "seeds": [
              {
                "kind": "const",
                "value": [
                  100,
                  114,
                  97,
                  102,
                  116
                ]
              },
              {
                "kind": "account",
                "path": "agent"
              }
            ]
          }
        },
        {
          "name": "systemProgram",
          "address": "11111111111111111111111111111111"
        }
      ],
      "args": [
        {
          "name": "entryCount",
          "type": "u16"
        }
      ]
    },
    {
      "name": "setOperatorPaused",
      "docs": [
        "Stops or resumes all agents of an operator."
      ],
      "discriminator": [
        28,
        180,
        6,
        8,
        119,
        147,
        233,
        63
      ],
      "accounts": [
        {
          "name": "authority",
          "docs": [
            "Guardian, policy authority or admin to pause; policy authority or admin to resume."
          ],
          "signer": true
        },
        {
          "name": "operator",
          "writable": true
        }
      ],
      "args": [
        {
          "name": "paused",
          "type": "bool"
        }
      ]
    },
    {
      "name": "setPaused",
      "docs": [
        "Stops or resumes one agent."
      ],
      "discriminator": [
        91,
        60,
        125,
        192,
        176,
        225,
        166,
        218
      ],
      "accounts": [
        {
          "name": "authority",
          "docs": [
            "Guardian, policy authority or admin to pause; policy authority or admin to resume."
          ],
          "signer": true
        },
        {
          "name": "operator",
          "relations": [
            "agent"
          ]
        },
        {
          "name": "agent",
          "writable": true
        }
      ],
      "args": [
        {
          "name": "paused",
          "type": "bool"
        }
      ]
    },
    {
      "name": "setPolicy",
      "docs": [
        "Replaces an agent's whole policy at once."
      ],
      "discriminator": [
        40,
        133,
        12,
        157,
        235,
        202,
        2,
        132
      ],
      "accounts": [
        {
          "name": "authority",
          "docs": [
            "Policy authority or admin; pays for a longer allowlist, is paid back for a shorter one."
          ],
          "writable": true,
          "signer": true
        },
        {
          "name": "operator",
          "relations": [
            "agent"
          ]
        },
        {
          "name": "agent",
          "writable": true,
          "relations": [
            "draft"
          ]
        },
        {
          "name": "draft",
          "writable": true,
          "optional": true
        },
        {
          "name": "systemProgram",
          "address": "11111111111111111111111111111111"
        }
      ],
      "args": [
        {
          "name": "policy",
          "type": {
            "defined": {
              "name": "policyArgs"
            }
          }
        }
      ]
    },
    {
      "name": "transfer",
      "docs": [
        "Pays within the policy. `amount` in micro-USDC; an empty memo is none; the `tag` is the same for every try.",
        "`sequence` is `RecentTags::sequence` of the account where it was seen that the tag had not been paid.",
        "",
        "Declared here for the interface: `entry` answers it before Anchor is asked, for a quarter of the compute units. Half",
        "a discriminator, so that an 800-byte memo fits a transaction."
      ],
      "discriminator": [
        163,
        52,
        200,
        231
      ],
      "accounts": [
        {
          "name": "transferAuthority",
          "signer": true
        },
        {
          "name": "operator"
        },
        {
          "name": "agent",
          "writable": true
        },
        {
          "name": "source",
          "writable": true
        },
        {
          "name": "destination",
          "writable": true
        },
        {
          "name": "tokenProgram",
          "address": "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
        }
      ],
      "args": [
        {
          "name": "transferId",
          "type": {
            "array": [
              "u8",
              16
            ]
          }
        },
        {
          "name": "tag",
          "type": "u64"
        },
        {
          "name": "sequence",
          "type": "u32"
        },
        {
          "name": "amount",
          "type": "u64"
        },
        {
          "name": "memo",
          "type": "string"
        }
      ]
    },
    {
      "name": "updateOperator",
      "docs": [
        "Rotates keys and offers the admin's place. Admin only."
      ],
      "discriminator": [
        183,
        158,
        123,
        149,
        124,
        150,
        45,
        226
      ],
      "accounts": [
        {
          "name": "admin",
          "signer": true
        },
        {
          "name": "operator",
          "writable": true
        }
      ],
      "args": [
        {
          "name": "update",
          "type": {
            "defined": {
              "name": "operatorUpdate"
            }
          }
        }
      ]
    },
    {
      "name": "withdraw",
      "docs": [
        "Takes `amount` micro-USDC out of an agent account. Admin only."
      ],
      "discriminator": [
        183,
        18,
        70,
        156,
        148,
        109,
        161,
        34
      ],
      "accounts": [
        {
          "name": "admin",
          "signer": true
        },
        {
          "name": "operator",
          "relations": [
            "agent"
          ]
        },
        {
          "name": "agent"
        },
        {
          "name": "source",
          "writable": true
        },
        {
          "name": "destination",
          "writable": true
        },
        {
          "name": "tokenProgram",
          "address": "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
        }
      ],
      "args": [
        {
          "name": "amount",
          "type": "u64"
        }
      ]
    },
    {
      "name": "writeDraft",
      "docs": [
        "Adds entries to a draft."
      ],
      "discriminator": [
        150,
        137,
        163,
        44,
        154,
        5,
        190,
        188
      ],
      "accounts": [
        {
          "name": "authority",
          "signer": true
        },
        {
          "name": "operator",
          "relations": [
            "agent"
          ]
        },
        {
          "name": "agent",
          "relations": [
            "draft"
          ]
        },
        {
          "name": "draft",
          "writable": true
        }
      ],
      "args": [
        {
          "name": "start",
          "type": "u16"
        },
        {
          "name": "entries",
          "type": {
            "vec": "pubkey"
          }
        }
      ]
    }
  ],
  "accounts": [
    {
      "name": "agent",
      "discriminator": [
        47,
        166,
        112,
        147,
        155,
        197,
        86,
        7
      ]
    },
    {
      "name": "allowlistDraft",
      "discriminator": [
        4,
        101,
        151,
        181,
        73,
        47,
        45,
        43
      ]
    },
    {
      "name": "operator",
      "discriminator": [
        219,
        31,
        188,
        145,
        69,
        139,
        204,
        117
      ]
    }
  ],
  "events": [
    {
      "name": "agentClosed",
      "discriminator": [
        72,
        133,
        207,
        59,
        220,
        188,
        201,
        165
      ]
    },
    {
      "name": "agentCreated",
      "discriminator": [
        237,
        44,
        61,
        111,
        90,
        251,
        241,
        34
      ]
    },
    {
      "name": "draftWritten",
      "discriminator": [
        246,
        119,
        102,
        26,
        25,
        221,
        119,
        131
      ]
    },
    {
      "name": "operatorCreated",
      "discriminator": [
        240,
        187,
        225,
        19,
        110,
        208,
        93,
        187
      ]
    },
    {
      "name": "operatorUpdated",
      "discriminator": [
        28,
        104,
        226,
        145,
        253,
        229,
        17,
        245
      ]
    },
    {
      "name": "pausedSet",
      "discriminator": [
        171,
        125,
        127,
        156,
        233,
        81,
        68,
        66
      ]
    },
    {
      "name": "policySet",
      "discriminator": [
        126,
        246,
        69,
        48,
        9,
        240,
        226,
        52
      ]
    },
    {
      "name": "transferExecuted",
      "discriminator": [
        8,
        128,
        224,
        132,
        112,
        216,
        192,
        35
      ]
    },
    {
      "name": "withdrawn",
      "discriminator": [
        20,
        89,
        223,
        198,
        194,
        124,
        219,
        13
      ]
    }
  ],
  "errors": [
    {
      "code": 6000,
      "name": "duplicateTransfer",
      "msg": "A transfer with this tag was made within the last 24 hours"
    },
    {
      "code": 6001,
      "name": "paused",
      "msg": "The operator or the agent account is paused"
    },
    {
      "code": 6002,
      "name": "memoRequired",
      "msg": "The policy requires a memo"
    },
    {
      "code": 6003,
      "name": "memoTooLong",
      "msg": "The memo has more than 200 characters"
    },
    {
      "code": 6004,
      "name": "recipientNotAllowed",
      "msg": "The recipient is not on the allowlist"
    },
    {
      "code": 6005,
      "name": "singleLimitExceeded",
      "msg": "The amount is above the largest single transfer"
    },
    {
      "code": 6006,
      "name": "dailyLimitExceeded",
      "msg": "The amount and what left in the last 24 hours are above the daily limit"
    },
    {
      "code": 6007,
      "name": "insufficientBalance",
      "msg": "The account holds less than the amount"
    },
    {
      "code": 6008,
      "name": "unauthorized",
      "msg": "This key may not do this"
    },
    {
      "code": 6009,
      "name": "wrongOperator",
      "msg": "The agent belongs to another operator"
    },
    {
      "code": 6010,
      "name": "wrongMint",
      "msg": "The mint is not the operator's USDC mint: a legacy SPL Token mint with six decimals"
    },
    {
      "code": 6011,
      "name": "wrongSource",
      "msg": "The source is not the agent's own USDC token account"
    },
    {
      "code": 6012,
      "name": "recipientNotTokenAccount",
      "msg": "The recipient is not an initialised account of the SPL Token program"
    },
    {
      "code": 6013,
      "name": "recipientWrongMint",
      "msg": "The recipient holds another mint than the operator's USDC mint"
    },
    {
      "code": 6014,
      "name": "recipientFrozen",
      "msg": "The recipient's token account is frozen"
    },
    {
      "code": 6015,
      "name": "recipientIsSource",
      "msg": "The recipient is the source itself"
    },
    {
      "code": 6016,
      "name": "amountZero",
      "msg": "The amount is zero"
    },
    {
      "code": 6017,
      "name": "tagZero",
      "msg": "The tag is zero"
    },
    {
      "code": 6018,
      "name": "keysNotDistinct",
      "msg": "Admin, policy authority and transfer authority must be three different keys"
    },
    {
      "code": 6019,
      "name": "allowlistTooLong",
      "msg": "The allowlist has more than 256 entries"
    },
    {
      "code": 6020,
      "name": "allowlistNotSorted",
      "msg": "The allowlist is not sorted in strictly ascending order"
    },
    {
      "code": 6021,
      "name": "draftMismatch",
      "msg": "The policy names a draft, and no draft account was given; or the other way round"
    },
    {
      "code": 6022,
      "name": "draftIncomplete",
      "msg": "The draft has fewer entries than it was opened for"
    },
    {
      "code": 6023,
      "name": "draftOutOfOrder",
      "msg": "Draft entries must be written in order, within the count that the draft was opened for"
    },
    {
      "code": 6024,
      "name": "spendWindowNotEmpty",
      "msg": "The account paid within the last 24 hours; close it later, so that re-creating it cannot reset its limits"
    },
    {
      "code": 6025,
      "name": "accountNotEmpty",
      "msg": "The account still holds USDC; withdraw it first"
    },
    {
      "code": 6026,
      "name": "unknownLayout",
      "msg": "The account has a layout that this program does not know"
    },
    {
      "code": 6027,
      "name": "policyVersionExhausted",
      "msg": "The policy version cannot grow further"
    },
    {
      "code": 6028,
      "name": "malformedInstruction",
      "msg": "The instruction has too few accounts, or data that cannot be read"
    },
    {
      "code": 6029,
      "name": "staleSequence",
      "msg": "So many transfers were made since this one was signed that it could be a second one: look for its tag, sign anew"
    }
  ],
  "types": [
    {
      "name": "agent",
      "docs": [
        "An agent account. Address: `[\"agent\", operator, agent_id]`.",
        "",
        "The sorted allowlist follows at the tail, 32 bytes an entry: its length is the account's length."
      ],
      "serialization": "bytemuck",
      "repr": {
        "kind": "c"
      },
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "version",
            "type": "u8"
          },
          {
            "name": "bump",
            "type": "u8"
          },
          {
            "name": "flags",
            "docs": [
              "Bit 0 paused, 1 memo required, 2 `max_single_transfer` applies, 3 `max_daily_spend` applies, 4 allowlist applies."
            ],
            "type": "u8"
          },
          {
            "name": "reserved",
            "type": "u8"
          },
          {
            "name": "policyVersion",
            "docs": [
              "Grows by one with each change of the policy."
            ],
            "type": "u32"
          },
          {
            "name": "operator",
            "type": "pubkey"
          },
          {
            "name": "agentId",
            "type": {
              "array": [
                "u8",
                16
              ]
            }
          },
          {
            "name": "tokenAccount",
            "docs": [
              "Its USDC token account: the associated one."
            ],
            "type": "pubkey"
          },
          {
            "name": "maxSingleTransfer",
            "docs": [
              "Micro-USDC."
            ],
            "type": "u64"
          },
          {
            "name": "maxDailySpend",
            "docs": [
              "Micro-USDC in any 24 hours."
            ],
            "type": "u64"
          },
          {
            "name": "policyUpdatedAt",
            "docs": [
              "Unix seconds."
            ],
            "type": "i64"
          },
          {
            "name": "window",
            "docs": [
              "`purser_policy::SpendWindow`: newest second, span count, then 32 spans (first u32, last u32, amount u64)."
            ],
            "type": {
              "array": [
                "u64",
                66
              ]
            }
          },
          {
            "name": "tags",
            "docs": [
              "`purser_policy::RecentTags`: newest second, how many were ever recorded (the next one's place, modulo 16), then 16",
              "tags, then their 16 seconds (u32)."
            ],
            "type": {
              "array": [
                "u64",
                26
              ]
            }
          }
        ]
      }
    },
    {
      "name": "agentClosed",
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "operator",
            "type": "pubkey"
          },
          {
            "name": "agent",
            "type": "pubkey"
          },
          {
            "name": "agentId",
            "type": {
              "array": [
                "u8",
                16
              ]
            }
          }
        ]
      }
    },
    {
      "name": "agentCreated",
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "operator",
            "type": "pubkey"
          },
          {
            "name": "agent",
            "type": "pubkey"
          },
          {
            "name": "agentId",
            "type": {
              "array": [
                "u8",
                16
              ]
            }
          },
          {
            "name": "tokenAccount",
            "type": "pubkey"
          }
        ]
      }
    },
    {
      "name": "allowlistArg",
      "docs": [
        "Whom to allow."
      ],
      "type": {
        "kind": "enum",
        "variants": [
          {
            "name": "anyone"
          },
          {
            "name": "only",
            "fields": [
              {
                "vec": "pubkey"
              }
            ]
          },
          {
            "name": "draft"
          }
        ]
      }
    },
    {
      "name": "allowlistDraft",
      "docs": [
        "A draft. Address: `[\"draft\", agent]`. Room for `entry_count` entries follows at the tail."
      ],
      "serialization": "bytemuck",
      "repr": {
        "kind": "c"
      },
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "version",
            "type": "u8"
          },
          {
            "name": "bump",
            "type": "u8"
          },
          {
            "name": "entryCount",
            "type": "u16"
          },
          {
            "name": "written",
            "docs": [
              "Entries written so far."
            ],
            "type": "u16"
          },
          {
            "name": "reserved",
            "type": {
              "array": [
                "u8",
                2
              ]
            }
          },
          {
            "name": "agent",
            "type": "pubkey"
          }
        ]
      }
    },
    {
      "name": "allowlistRecord",
      "docs": [
        "The allowlist of a policy as an event can carry it."
      ],
      "type": {
        "kind": "enum",
        "variants": [
          {
            "name": "anyone"
          },
          {
            "name": "only",
            "fields": [
              {
                "vec": "pubkey"
              }
            ]
          },
          {
            "name": "draft",
            "fields": [
              {
                "name": "entryCount",
                "type": "u16"
              },
              {
                "name": "entriesHash",
                "docs": [
                  "SHA-256 of all entries, in order."
                ],
                "type": {
                  "array": [
                    "u8",
                    32
                  ]
                }
              }
            ]
          }
        ]
      }
    },
    {
      "name": "draftWritten",
      "docs": [
        "Entries added to an allowlist draft."
      ],
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "agent",
            "type": "pubkey"
          },
          {
            "name": "start",
            "type": "u16"
          },
          {
            "name": "entries",
            "type": {
              "vec": "pubkey"
            }
          }
        ]
      }
    },
    {
      "name": "operator",
      "docs": [
        "An operator. Address: `[\"operator\", created_by, id: u64 le]`."
      ],
      "serialization": "bytemuck",
      "repr": {
        "kind": "c"
      },
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "version",
            "type": "u8"
          },
          {
            "name": "bump",
            "type": "u8"
          },
          {
            "name": "paused",
            "docs": [
              "1 stops the transfers of all agents."
            ],
            "type": "u8"
          },
          {
            "name": "reserved",
            "type": {
              "array": [
                "u8",
                5
              ]
            }
          },
          {
            "name": "id",
            "type": "u64"
          },
          {
            "name": "createdBy",
            "docs": [
              "The admin that created it: part of the address, without power of its own."
            ],
            "type": "pubkey"
          },
          {
            "name": "admin",
            "type": "pubkey"
          },
          {
            "name": "pendingAdmin",
            "docs": [
              "Offered the admin's place; the default key where nobody is."
            ],
            "type": "pubkey"
          },
          {
            "name": "policyAuthority",
            "type": "pubkey"
          },
          {
            "name": "transferAuthority",
            "type": "pubkey"
          },
          {
            "name": "guardian",
            "docs": [
              "May pause; the default key where there is none."
            ],
            "type": "pubkey"
          },
          {
            "name": "usdcMint",
            "type": "pubkey"
          }
        ]
      }
    },
    {
      "name": "operatorCreated",
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "operator",
            "type": "pubkey"
          },
          {
            "name": "admin",
            "type": "pubkey"
          },
          {
            "name": "id",
            "type": "u64"
          },
          {
            "name": "policyAuthority",
            "type": "pubkey"
          },
          {
            "name": "transferAuthority",
            "type": "pubkey"
          },
          {
            "name": "guardian",
            "docs": [
              "The default key where there is none."
            ],
            "type": "pubkey"
          },
          {
            "name": "usdcMint",
            "type": "pubkey"
          }
        ]
      }
    },
    {
      "name": "operatorKeys",
      "docs": [
        "The keys that an operator hands out."
      ],
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "policyAuthority",
            "type": "pubkey"
          },
          {
            "name": "transferAuthority",
            "type": "pubkey"
          },
          {
            "name": "guardian",
            "type": {
              "option": "pubkey"
            }
          }
        ]
      }
    },
    {
      "name": "operatorUpdate",
      "docs": [
        "What to change; `None` leaves a key as it is, the default key removes a guardian or a pending admin."
      ],
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "policyAuthority",
            "type": {
              "option": "pubkey"
            }
          },
          {
            "name": "transferAuthority",
            "type": {
              "option": "pubkey"
            }
          },
          {
            "name": "guardian",
            "type": {
              "option": "pubkey"
            }
          },
          {
            "name": "pendingAdmin",
            "docs": [
              "First step of a hand-over: the second is `accept_admin`, signed by this key."
            ],
            "type": {
              "option": "pubkey"
            }
          }
        ]
      }
    },
    {
      "name": "operatorUpdated",
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "operator",
            "type": "pubkey"
          },
          {
            "name": "admin",
            "type": "pubkey"
          },
          {
            "name": "pendingAdmin",
            "docs": [
              "The default key where there is none."
            ],
            "type": "pubkey"
          },
          {
            "name": "policyAuthority",
            "type": "pubkey"
          },
          {
            "name": "transferAuthority",
            "type": "pubkey"
          },
          {
            "name": "guardian",
            "type": "pubkey"
          }
        ]
      }
    },
    {
      "name": "pausedSet",
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "operator",
            "type": "pubkey"
          },
          {
            "name": "agent",
            "docs": [
              "`None`: the operator, and so all its agents."
            ],
            "type": {
              "option": "pubkey"
            }
          },
          {
            "name": "paused",
            "type": "bool"
          },
          {
            "name": "policyVersion",
            "docs": [
              "The agent's policy version from here on; 0 for an operator."
            ],
            "type": "u32"
          },
          {
            "name": "signer",
            "type": "pubkey"
          }
        ]
      }
    },
    {
      "name": "policyArgs",
      "docs": [
        "The whole policy. Amounts in micro-USDC; `None` is no limit."
      ],
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "maxSingleTransfer",
            "type": {
              "option": "u64"
            }
          },
          {
            "name": "maxDailySpend",
            "type": {
              "option": "u64"
            }
          },
          {
            "name": "requireMemo",
            "type": "bool"
          },
          {
            "name": "paused",
            "type": "bool"
          },
          {
            "name": "allowlist",
            "type": {
              "defined": {
                "name": "allowlistArg"
              }
            }
          }
        ]
      }
    },
    {
      "name": "policySet",
      "docs": [
        "The whole policy that applies from here on."
      ],
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "operator",
            "type": "pubkey"
          },
          {
            "name": "agent",
            "type": "pubkey"
          },
          {
            "name": "policyVersion",
            "type": "u32"
          },
          {
            "name": "maxSingleTransfer",
            "type": {
              "option": "u64"
            }
          },
          {
            "name": "maxDailySpend",
            "type": {
              "option": "u64"
            }
          },
          {
            "name": "requireMemo",
            "type": "bool"
          },
          {
            "name": "paused",
            "type": "bool"
          },
          {
            "name": "allowlist",
            "type": {
              "defined": {
                "name": "allowlistRecord"
              }
            }
          },
          {
            "name": "signer",
            "docs": [
              "The key that signed."
            ],
            "type": "pubkey"
          }
        ]
      }
    },
    {
      "name": "transferExecuted",
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "agent",
            "type": "pubkey"
          },
          {
            "name": "transferId",
            "type": {
              "array": [
                "u8",
                16
              ]
            }
          },
          {
            "name": "tag",
            "type": "u64"
          },
          {
            "name": "amount",
            "type": "u64"
          },
          {
            "name": "recipient",
            "docs": [
              "The token account that was paid."
            ],
            "type": "pubkey"
          },
          {
            "name": "recipientOwner",
            "docs": [
              "The wallet that owned it at that moment."
            ],
            "type": "pubkey"
          },
          {
            "name": "policyVersion",
            "type": "u32"
          },
          {
            "name": "spentInWindow",
            "docs": [
              "What left in the 24 hours up to and including this transfer."
            ],
            "type": "u64"
          },
          {
            "name": "memo",
            "docs": [
              "Empty where there is none."
            ],
            "type": "string"
          }
        ]
      }
    },
    {
      "name": "withdrawn",
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "operator",
            "type": "pubkey"
          },
          {
            "name": "agent",
            "type": "pubkey"
          },
          {
            "name": "amount",
            "type": "u64"
          },
          {
            "name": "recipient",
            "type": "pubkey"
          },
          {
            "name": "recipientOwner",
            "type": "pubkey"
          },
          {
            "name": "admin",
            "type": "pubkey"
          }
        ]
      }
    }
  ]
};
