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
          "signer": true
        },
        {
          "name": "operator",
          "writable": true
        }
      ],
      "args": []
    },
    {
      "name": "applyDraft",
      "docs": [
        "Puts a sealed draft in force, once its time has come. One that loosens anything while the operator or the agent is",
        "halted: the admin alone."
      ],
      "discriminator": [
        19,
        20,
        251,
        212,
        127,
        137,
        150,
        116
      ],
      "accounts": [
        {
          "name": "authority",
          "docs": [
            "Policy authority or admin."
          ],
          "signer": true
        },
        {
          "name": "payer",
          "docs": [
            "Pays for a longer allowlist."
          ],
          "writable": true,
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
          "name": "draft",
          "writable": true
        },
        {
          "name": "rentRefund",
          "writable": true
        },
        {
          "name": "draftRentRefund",
          "writable": true
        },
        {
          "name": "systemProgram",
          "address": "11111111111111111111111111111111"
        }
      ],
      "args": [
        {
          "name": "hash",
          "type": {
            "array": [
              "u8",
              32
            ]
          }
        }
      ]
    },
    {
      "name": "closeAgent",
      "docs": [
        "Closes an agent account that paid nothing for 25 hours; a mark stays at its address. Admin only."
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
            "Pays for what stays. Out of the agent's own rent, whoever paid that would lose by each close."
          ],
          "writable": true,
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
          "name": "tokenAccount",
          "writable": true
        },
        {
          "name": "usdcMint"
        },
        {
          "name": "destination",
          "writable": true
        },
        {
          "name": "rentRefund",
          "writable": true
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
          "name": "draftRentRefund",
          "writable": true
        },
        {
          "name": "tokenProgram",
          "address": "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
        },
        {
          "name": "systemProgram",
          "address": "11111111111111111111111111111111"
        }
      ],
      "args": []
    },
    {
      "name": "closeBudget",
      "docs": [
        "Closes a budget in which nothing counts any more. Admin only."
      ],
      "discriminator": [
        205,
        29,
        212,
        191,
        194,
        200,
        168,
        24
      ],
      "accounts": [
        {
          "name": "admin",
          "docs": [
            "Gets the rent of the account."
          ],
          "writable": true,
          "signer": true
        },
        {
          "name": "operator"
        },
        {
          "name": "budget",
          "writable": true
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
          "docs": [
            "Guardian, policy authority or admin."
          ],
          "signer": true
        },
        {
          "name": "operator"
        },
        {
          "name": "agent"
        },
        {
          "name": "draft",
          "writable": true
        },
        {
          "name": "rentRefund",
          "writable": true
        }
      ],
      "args": [
        {
          "name": "hash",
          "type": {
            "array": [
              "u8",
              32
            ]
          }
        }
      ]
    },
    {
      "name": "closeGrant",
      "docs": [
        "Takes a grant back. One that has expired or is spent, anyone."
      ],
      "discriminator": [
        70,
        22,
        221,
        111,
        171,
        253,
        39,
        217
      ],
      "accounts": [
        {
          "name": "authority",
          "docs": [
            "Guardian, policy authority or admin; of a grant that is over, anyone."
          ],
          "signer": true
        },
        {
          "name": "operator"
        },
        {
          "name": "grant",
          "writable": true
        },
        {
          "name": "rentRefund",
          "writable": true
        }
      ],
      "args": []
    },
    {
      "name": "createAgent",
      "docs": [
        "Creates an agent account with the policy that it begins with, and its USDC token account. Where one was closed: the",
        "admin alone."
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
            "Policy authority or admin."
          ],
          "signer": true
        },
        {
          "name": "payer",
          "docs": [
            "Pays for the accounts, and says by its signature who gets it back."
          ],
          "writable": true,
          "signer": true
        },
        {
          "name": "operator"
        },
        {
          "name": "agent",
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
          "name": "usdcMint"
        },
        {
          "name": "rentRefund",
          "writable": true
        },
        {
          "name": "closedRentRefund",
          "writable": true,
          "optional": true
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
        },
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
      "name": "halt",
      "docs": [
        "Halts one agent, or without an agent the operator with all of them."
      ],
      "discriminator": [
        24,
        156,
        8,
        121,
        65,
        3,
        5,
        82
      ],
      "accounts": [
        {
          "name": "authority",
          "docs": [
            "To halt: guardian, policy authority or admin. To resume: the admin."
          ],
          "signer": true
        },
        {
          "name": "operator",
          "writable": true
        },
        {
          "name": "agent",
          "writable": true,
          "optional": true
        }
      ],
      "args": []
    },
    {
      "name": "openDraft",
      "docs": [
        "Opens a draft for a policy that does not fit a transaction, or that has to wait."
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
            "Policy authority or admin."
          ],
          "signer": true
        },
        {
          "name": "payer",
          "docs": [
            "Pays for the draft, and says by its signature who gets it back."
          ],
          "writable": true,
          "signer": true
        },
        {
          "name": "operator"
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
          "name": "rentRefund",
          "writable": true
        },
        {
          "name": "systemProgram",
          "address": "11111111111111111111111111111111"
        }
      ],
      "args": [
        {
          "name": "args",
          "type": {
            "defined": {
              "name": "draftArgs"
            }
          }
        }
      ]
    },
    {
      "name": "openGrant",
      "docs": [
        "Lets one payee be paid beyond the policy, up to an amount and an end: admin, at once and alone past the daily limit;",
        "policy authority, after the loosening delay; an approver, at once, for a single payment that a memo describes."
      ],
      "discriminator": [
        115,
        112,
        213,
        95,
        124,
        181,
        141,
        104
      ],
      "accounts": [
        {
          "name": "authority",
          "docs": [
            "Admin, policy authority, or the approver's key."
          ],
          "signer": true
        },
        {
          "name": "payer",
          "docs": [
            "Pays for the grant, and says by its signature who gets it back."
          ],
          "writable": true,
          "signer": true
        },
        {
          "name": "operator"
        },
        {
          "name": "agent"
        },
        {
          "name": "grant",
          "writable": true,
          "pda": {
            "seeds": [
              {
                "kind": "const",
                "value": [
                  103,
                  114,
                  97,
                  110,
                  116
                ]
              },
              {
                "kind": "account",
                "path": "agent"
              },
              {
                "kind": "arg",
                "path": "id"
              }
            ]
          }
        },
        {
          "name": "rentRefund",
          "writable": true
        },
        {
          "name": "approver",
          "docs": [
            "Where an approver signs."
          ],
          "writable": true,
          "optional": true
        },
        {
          "name": "instructions",
          "optional": true
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
          "name": "terms",
          "type": {
            "defined": {
              "name": "grantTerms"
            }
          }
        }
      ]
    },
    {
      "name": "reclaimRent",
      "docs": [
        "Sends what an account holds beyond its rent to its refund address. Signed by anyone."
      ],
      "discriminator": [
        218,
        200,
        19,
        197,
        227,
        89,
        192,
        22
      ],
      "accounts": [
        {
          "name": "account",
          "writable": true
        },
        {
          "name": "rentRefund",
          "writable": true
        }
      ],
      "args": []
    },
    {
      "name": "removeApprover",
      "docs": [
        "Removes an approver and voids all open grants of approvers; what it granted still counts if it is made anew. Admin only."
      ],
      "discriminator": [
        214,
        72,
        133,
        48,
        50,
        58,
        227,
        224
      ],
      "accounts": [
        {
          "name": "admin",
          "signer": true
        },
        {
          "name": "operator",
          "writable": true
        },
        {
          "name": "approver",
          "writable": true
        }
      ],
      "args": []
    },
    {
      "name": "resume",
      "docs": [
        "Lifts a halt, and those of the agents that follow. Admin only."
      ],
      "discriminator": [
        1,
        166,
        51,
        170,
        127,
        32,
        141,
        206
      ],
      "accounts": [
        {
          "name": "authority",
          "docs": [
            "To halt: guardian, policy authority or admin. To resume: the admin."
          ],
          "signer": true
        },
        {
          "name": "operator",
          "writable": true
        },
        {
          "name": "agent",
          "writable": true,
          "optional": true
        }
      ],
      "args": []
    },
    {
      "name": "setApprover",
      "docs": [
        "Makes a key an approver, or changes its limits, in micro-USDC: for one grant, and for those of 24 hours. Lower ones void",
        "nothing. Admin only."
      ],
      "discriminator": [
        139,
        202,
        200,
        122,
        109,
        173,
        219,
        116
      ],
      "accounts": [
        {
          "name": "admin",
          "docs": [
            "Pays for the account."
          ],
          "writable": true,
          "signer": true
        },
        {
          "name": "operator"
        },
        {
          "name": "approver",
          "writable": true,
          "pda": {
            "seeds": [
              {
                "kind": "const",
                "value": [
                  97,
                  112,
                  112,
                  114,
                  111,
                  118,
                  101,
                  114
                ]
              },
              {
                "kind": "account",
                "path": "operator"
              },
              {
                "kind": "arg",
                "path": "key"
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
          "name": "key",
          "type": "pubkey"
        },
        {
          "name": "maxGrant",
          "type": "u64"
        },
        {
          "name": "maxDaily",
          "type": "u64"
        }
      ]
    },
    {
      "name": "setBounds",
      "docs": [
        "Replaces what binds an agent beside its policy: what is `expected` to bind it, if that is given. What loosens it where",
        "loosened policies wait: admin only."
      ],
      "discriminator": [
        102,
        94,
        161,
        128,
        243,
        3,
        17,
        26
      ],
      "accounts": [
        {
          "name": "authority",
          "docs": [
            "Policy authority or admin."
          ],
          "signer": true
        },
        {
          "name": "payer",
          "docs": [
            "Pays for a longer account."
          ],
          "writable": true,
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
          "name": "rentRefund",
          "writable": true
        },
        {
          "name": "budget",
          "docs": [
            "The budget that the bounds name."
          ],
          "optional": true
        },
        {
          "name": "systemProgram",
          "address": "11111111111111111111111111111111"
        }
      ],
      "args": [
        {
          "name": "bounds",
          "type": {
            "defined": {
              "name": "bounds"
            }
          }
        },
        {
          "name": "expected",
          "type": {
            "option": {
              "defined": {
                "name": "bounds"
              }
            }
          }
        }
      ]
    },
    {
      "name": "setBudget",
      "docs": [
        "Makes a budget or changes its caps: the admin, at once; the policy authority, who makes none, waits where it raises one;",
        "the guardian lowers. It replaces the caps that are `expected` to be in force, if those are given."
      ],
      "discriminator": [
        148,
        121,
        226,
        12,
        183,
        120,
        26,
        227
      ],
      "accounts": [
        {
          "name": "authority",
          "docs": [
            "Admin or policy authority; to lower, the guardian too. Made by the admin alone, who pays for it."
          ],
          "writable": true,
          "signer": true
        },
        {
          "name": "operator"
        },
        {
          "name": "budget",
          "writable": true,
          "pda": {
            "seeds": [
              {
                "kind": "const",
                "value": [
                  98,
                  117,
                  100,
                  103,
                  101,
                  116
                ]
              },
              {
                "kind": "account",
                "path": "operator"
              },
              {
                "kind": "arg",
                "path": "id"
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
          "name": "id",
          "type": "u64"
        },
        {
          "name": "caps",
          "type": {
            "defined": {
              "name": "budgetCaps"
            }
          }
        },
        {
          "name": "expected",
          "type": {
            "option": {
              "defined": {
                "name": "budgetCaps"
              }
            }
          }
        }
      ]
    },
    {
      "name": "setPaused",
      "docs": [
        "Pauses one agent by its policy, or lifts that pause."
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
            "Policy authority or admin. Where loosened policies wait, the admin alone lifts a pause at once."
          ],
          "signer": true
        },
        {
          "name": "operator"
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
        "Replaces an agent's whole policy at once, if it is still at `expected_version`. One that loosens anything has to",
        "wait in a draft where the operator has set a delay."
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
            "Policy authority or admin."
          ],
          "signer": true
        },
        {
          "name": "payer",
          "docs": [
            "Pays for a longer allowlist."
          ],
          "writable": true,
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
          "name": "rentRefund",
          "writable": true
        },
        {
          "name": "systemProgram",
          "address": "11111111111111111111111111111111"
        }
      ],
      "args": [
        {
          "name": "expectedVersion",
          "type": "u32"
        },
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
      "name": "setRentRefund",
      "docs": [
        "Names another refund address of an agent's rent. Signed by the one that it has."
      ],
      "discriminator": [
        120,
        205,
        187,
        215,
        222,
        200,
        13,
        66
      ],
      "accounts": [
        {
          "name": "rentRefund",
          "docs": [
            "The agent's refund address."
          ],
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
          "name": "newRentRefund",
          "writable": true
        }
      ],
      "args": []
    },
    {
      "name": "setTagBuckets",
      "docs": [
        "Gives an agent so many buckets of tags, 16 payments each: more, 53 at a time, or",
        "fewer, while those of the last 25 hours fit."
      ],
      "discriminator": [
        168,
        124,
        198,
        118,
        101,
        76,
        37,
        173
      ],
      "accounts": [
        {
          "name": "authority",
          "docs": [
            "Policy authority or admin."
          ],
          "signer": true
        },
        {
          "name": "payer",
          "docs": [
            "Pays for a longer allowlist."
          ],
          "writable": true,
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
          "name": "rentRefund",
          "writable": true
        },
        {
          "name": "systemProgram",
          "address": "11111111111111111111111111111111"
        }
      ],
      "args": [
        {
          "name": "buckets",
          "type": "u16"
        }
      ]
    },
    {
      "name": "transfer",
      "docs": [
        "Pays within the policy. `amount` in micro-USDC; an empty memo is none. The last eight bytes of",
        "`transfer_id` are the payment's tag, and `asked_at` is the chain's Unix second when it was asked for: both the same for every",
        "try.",
        "",
        "Half a discriminator, so that an 800-byte memo fits a transaction."
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
          "name": "askedAt",
          "type": "u32"
        },
        {
          "name": "amount",
          "type": "u64"
        },
        {
          "name": "memo",
          "type": "bytes"
        }
      ]
    },
    {
      "name": "transferChecked",
      "docs": [
        "The same by `TransferChecked`, for those who look into a transaction for that (x402 facilitators)."
      ],
      "discriminator": [
        119,
        250,
        202,
        24,
        253,
        135,
        244,
        121
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
          "name": "mint"
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
          "name": "askedAt",
          "type": "u32"
        },
        {
          "name": "amount",
          "type": "u64"
        },
        {
          "name": "memo",
          "type": "bytes"
        }
      ]
    },
    {
      "name": "transferExtended",
      "docs": [
        "The same as `transfer_checked`, past the rules that the grant waives. Accounts that are bounded pay by this alone."
      ],
      "discriminator": [
        191,
        156,
        211,
        91,
        141,
        158,
        156,
        194
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
          "name": "mint"
        },
        {
          "name": "grant",
          "writable": true,
          "optional": true
        },
        {
          "name": "budget",
          "writable": true,
          "optional": true
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
          "name": "askedAt",
          "type": "u32"
        },
        {
          "name": "amount",
          "type": "u64"
        },
        {
          "name": "memo",
          "type": "bytes"
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
      "name": "voidGrants",
      "docs": [
        "Voids every open grant of an agent."
      ],
      "discriminator": [
        172,
        134,
        214,
        223,
        81,
        252,
        128,
        134
      ],
      "accounts": [
        {
          "name": "authority",
          "docs": [
            "Policy authority or admin. Where loosened policies wait, the admin alone lifts a pause at once."
          ],
          "signer": true
        },
        {
          "name": "operator"
        },
        {
          "name": "agent",
          "writable": true
        }
      ],
      "args": []
    },
    {
      "name": "withdraw",
      "docs": [
        "Takes `amount` out of any token account of the agent, in the mint's smallest unit. Admin only."
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
          "name": "operator"
        },
        {
          "name": "agent"
        },
        {
          "name": "source",
          "writable": true
        },
        {
          "name": "mint"
        },
        {
          "name": "destination",
          "writable": true
        },
        {
          "name": "tokenProgram"
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
        "Adds entries to a draft; the last ones seal it."
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
          "name": "operator"
        },
        {
          "name": "agent"
        },
        {
          "name": "draft",
          "writable": true
        }
      ],
      "args": [
        {
          "name": "hash",
          "type": {
            "array": [
              "u8",
              32
            ]
          }
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
      "name": "approver",
      "discriminator": [
        234,
        150,
        242,
        84,
        178,
        2,
        120,
        60
      ]
    },
    {
      "name": "budget",
      "discriminator": [
        35,
        151,
        58,
        65,
        187,
        148,
        119,
        218
      ]
    },
    {
      "name": "policyDraft",
      "discriminator": [
        166,
        118,
        120,
        202,
        10,
        11,
        62,
        213
      ]
    },
    {
      "name": "grant",
      "discriminator": [
        161,
        166,
        11,
        205,
        204,
        135,
        205,
        54
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
      "name": "approverRemoved",
      "discriminator": [
        140,
        180,
        22,
        154,
        106,
        110,
        129,
        87
      ]
    },
    {
      "name": "approverSet",
      "discriminator": [
        126,
        88,
        188,
        77,
        152,
        206,
        31,
        120
      ]
    },
    {
      "name": "boundsSet",
      "discriminator": [
        191,
        111,
        120,
        118,
        170,
        140,
        252,
        210
      ]
    },
    {
      "name": "budgetClosed",
      "discriminator": [
        156,
        139,
        102,
        110,
        220,
        12,
        193,
        36
      ]
    },
    {
      "name": "budgetSet",
      "discriminator": [
        151,
        45,
        229,
        243,
        179,
        219,
        252,
        60
      ]
    },
    {
      "name": "budgetUsed",
      "discriminator": [
        43,
        169,
        45,
        63,
        24,
        66,
        229,
        155
      ]
    },
    {
      "name": "draftClosed",
      "discriminator": [
        170,
        144,
        88,
        164,
        93,
        136,
        175,
        196
      ]
    },
    {
      "name": "draftSealed",
      "discriminator": [
        237,
        61,
        142,
        161,
        58,
        7,
        47,
        98
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
      "name": "grantClosed",
      "discriminator": [
        75,
        233,
        95,
        29,
        90,
        66,
        122,
        85
      ]
    },
    {
      "name": "grantOpened",
      "discriminator": [
        129,
        222,
        81,
        112,
        216,
        93,
        237,
        62
      ]
    },
    {
      "name": "grantUsed",
      "discriminator": [
        192,
        180,
        6,
        178,
        231,
        178,
        155,
        14
      ]
    },
    {
      "name": "grantsVoided",
      "discriminator": [
        176,
        0,
        70,
        130,
        214,
        65,
        143,
        249
      ]
    },
    {
      "name": "haltSet",
      "discriminator": [
        72,
        72,
        136,
        23,
        166,
        26,
        205,
        223
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
      "name": "rentRefundSet",
      "discriminator": [
        129,
        227,
        176,
        79,
        185,
        211,
        40,
        81
      ]
    },
    {
      "name": "tagBucketsSet",
      "discriminator": [
        85,
        115,
        92,
        180,
        156,
        167,
        155,
        78
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
      "msg": "The policy pauses the account"
    },
    {
      "code": 6002,
      "name": "memoRequired",
      "msg": "The policy requires a memo"
    },
    {
      "code": 6003,
      "name": "memoTooLong",
      "msg": "The memo has more than 800 bytes"
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
      "msg": "The recipient is the agent's own token account"
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
      "msg": "Admin, policy authority and each transfer authority must be different keys, and the guardian none of the latter"
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
      "msg": "The draft is not the one that was asked for, or does not hold what it was opened for"
    },
    {
      "code": 6022,
      "name": "draftIncomplete",
      "msg": "The draft is not complete"
    },
    {
      "code": 6023,
      "name": "draftOutOfOrder",
      "msg": "Draft entries must be written in order, within the count that the draft was opened for"
    },
    {
      "code": 6024,
      "name": "spendWindowNotEmpty",
      "msg": "The account paid within the last 25 hours, or the budget counts payments: close it later"
    },
    {
      "code": 6025,
      "name": "accountNotEmpty",
      "msg": "The address holds USDC already, and loosened policies wait here: only the admin creates it with a policy that pays"
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
    },
    {
      "code": 6030,
      "name": "halted",
      "msg": "The operator or the agent account is halted; only the admin can resume it"
    },
    {
      "code": 6031,
      "name": "policyChanged",
      "msg": "The policy, bounds or caps were changed since they were read: read them again"
    },
    {
      "code": 6032,
      "name": "looseningMustWait",
      "msg": "This loosens the policy, and the operator lets that wait: seal it in a draft, apply it when its time has come"
    },
    {
      "code": 6033,
      "name": "transferAuthorityCount",
      "msg": "An operator has one to eight transfer authorities"
    },
    {
      "code": 6034,
      "name": "looseningDelayTooLong",
      "msg": "The loosening delay is above 30 days"
    },
    {
      "code": 6035,
      "name": "wrongRentRefund",
      "msg": "Rent goes back to its refund address: the account given is another one, or no wallet"
    },
    {
      "code": 6036,
      "name": "agentClosed",
      "msg": "An account was closed here: whoever lists it means that one, so only the admin creates it anew"
    },
    {
      "code": 6037,
      "name": "grantMismatch",
      "msg": "The grant is for another account, payee, payment or version of the policy, or was voided"
    },
    {
      "code": 6038,
      "name": "grantExpired",
      "msg": "The grant has expired"
    },
    {
      "code": 6039,
      "name": "grantExceeded",
      "msg": "Less is left of the grant than the amount"
    },
    {
      "code": 6040,
      "name": "grantTermsInvalid",
      "msg": "A grant is for more than nothing and ends within 30 days; an approver's is for one payment, memo and policy"
    },
    {
      "code": 6041,
      "name": "approverLimitExceeded",
      "msg": "The grant is above what this approver may grant at once, or in 24 hours"
    },
    {
      "code": 6042,
      "name": "approvalMemoMismatch",
      "msg": "A memo that says what is approved must come right before an approver's grant, in the transaction itself"
    },
    {
      "code": 6043,
      "name": "extendedTransferRequired",
      "msg": "The account pays by transfer_extended alone"
    },
    {
      "code": 6044,
      "name": "grantRequired",
      "msg": "The account pays by grants alone"
    },
    {
      "code": 6045,
      "name": "monthLimitExceeded",
      "msg": "The amount and what left in the last 30 days are above the account's limit for them"
    },
    {
      "code": 6046,
      "name": "budgetMismatch",
      "msg": "The account pays through its budget: the one given is another, or it has none"
    },
    {
      "code": 6047,
      "name": "budgetExceeded",
      "msg": "The amount and what left through the budget are above what it allows in 24 hours or 30 days"
    },
    {
      "code": 6048,
      "name": "paidTagsFull",
      "msg": "The account cannot remember one more payment: give it more buckets, or wait"
    },
    {
      "code": 6049,
      "name": "tagBucketCount",
      "msg": "An account has at least 1 bucket, gains at most 53 at once, and keeps those that its recent payments need"
    },
    {
      "code": 6050,
      "name": "requestTooOld",
      "msg": "The payment was asked for an hour ago or longer, or too far in the future: ask anew"
    },
    {
      "code": 6051,
      "name": "grantTooEarly",
      "msg": "Grants were revoked in this second: open the grant a second later"
    }
  ],
  "types": [
    {
      "name": "agent",
      "docs": [
        "An agent account. Address: `[\"agent\", operator, agent_id]`.",
        "",
        "A [`Month`] and the address of a budget follow where `policy.bounds` says so, then the allowlist, 32 bytes an entry: sorted wallets, then sorted token",
        "accounts. The last [`TagBucket`]s, as many as `policy.tag_buckets` says, hold the tags of all payments of the last 25 hours. The",
        "body says how long each part is, so a slice of the account's data can be read."
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
            "name": "haltedBy",
            "docs": [
              "Not 0: halted, by the `Role` with this number."
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
            "name": "rentRefund",
            "docs": [
              "Gets the rent of this account and its token account back: named by who paid it, changed by itself alone."
            ],
            "type": "pubkey"
          },
          {
            "name": "policyUpdatedAt",
            "docs": [
              "Unix second."
            ],
            "type": "u32"
          },
          {
            "name": "voidedAt",
            "docs": [
              "Unix second by the account's clock; only ever raised. A grant that was opened then or earlier pays nothing. The second of",
              "a closed account is carried over by whatever is created at its address."
            ],
            "type": "u32"
          },
          {
            "name": "policy",
            "type": {
              "defined": {
                "name": "storedPolicy"
              }
            }
          },
          {
            "name": "window",
            "docs": [
              "`purser_policy::SpendWindow`."
            ],
            "type": {
              "array": [
                "u64",
                62
              ]
            }
          },
          {
            "name": "payments",
            "docs": [
              "How many payments were ever made: the number of the newest one."
            ],
            "type": "u64"
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
          },
          {
            "name": "payments",
            "docs": [
              "How many payments it made."
            ],
            "type": "u64"
          },
          {
            "name": "swept",
            "docs": [
              "What its USDC account still held, in micro-USDC, went to `recipient`."
            ],
            "type": "u64"
          },
          {
            "name": "recipient",
            "type": "pubkey"
          },
          {
            "name": "admin",
            "type": "pubkey"
          }
        ]
      }
    },
    {
      "name": "agentCreated",
      "docs": [
        "The policy that it begins with follows as [`PolicySet`]."
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
                "name": "wallets",
                "type": {
                  "vec": "pubkey"
                }
              },
              {
                "name": "tokenAccounts",
                "type": {
                  "vec": "pubkey"
                }
              }
            ]
          }
        ]
      }
    },
    {
      "name": "allowlistRecord",
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
                "name": "wallets",
                "type": {
                  "vec": "pubkey"
                }
              },
              {
                "name": "tokenAccounts",
                "type": {
                  "vec": "pubkey"
                }
              }
            ]
          },
          {
            "name": "draft",
            "fields": [
              {
                "name": "walletCount",
                "type": "u16"
              },
              {
                "name": "tokenAccountCount",
                "type": "u16"
              },
              {
                "name": "hash",
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
      "name": "approver",
      "docs": [
        "An approver. Address: `[\"approver\", operator, key]`. It stays there once it was removed, so that what it granted still counts when",
        "the key becomes an approver again."
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
            "name": "removed",
            "docs": [
              "1 once it was removed: it grants nothing."
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
            "name": "maxGrant",
            "docs": [
              "The largest grant, in micro-USDC."
            ],
            "type": "u64"
          },
          {
            "name": "maxDaily",
            "docs": [
              "The most that its grants of any 24 hours may add up to, in micro-USDC."
            ],
            "type": "u64"
          },
          {
            "name": "operator",
            "type": "pubkey"
          },
          {
            "name": "key",
            "type": "pubkey"
          },
          {
            "name": "window",
            "docs": [
              "`purser_policy::SpendWindow` of what it granted, paid or not."
            ],
            "type": {
              "array": [
                "u64",
                62
              ]
            }
          }
        ]
      }
    },
    {
      "name": "approverRemoved",
      "docs": [
        "From here on no grant pays that an approver of the operator opened before."
      ],
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "operator",
            "type": "pubkey"
          },
          {
            "name": "key",
            "type": "pubkey"
          },
          {
            "name": "voidedAt",
            "docs": [
              "The operator's from here on.",
              "Unix second: what an approver opened then or earlier pays nothing."
            ],
            "type": "i64"
          },
          {
            "name": "admin",
            "type": "pubkey"
          }
        ]
      }
    },
    {
      "name": "approverSet",
      "docs": [
        "A key that may open grants for single payments from here on, within these limits."
      ],
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "operator",
            "type": "pubkey"
          },
          {
            "name": "key",
            "type": "pubkey"
          },
          {
            "name": "maxGrant",
            "docs": [
              "Micro-USDC."
            ],
            "type": "u64"
          },
          {
            "name": "maxDaily",
            "docs": [
              "Micro-USDC in any 24 hours."
            ],
            "type": "u64"
          },
          {
            "name": "admin",
            "type": "pubkey"
          }
        ]
      }
    },
    {
      "name": "bounds",
      "docs": [
        "The bounds of an agent beside its policy. A new policy keeps them. Amounts in micro-USDC."
      ],
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "byGrantOnly",
            "docs": [
              "It pays by grants alone, which say whom and how much."
            ],
            "type": "bool"
          },
          {
            "name": "max30DaySpend",
            "docs": [
              "The most in any 30 days, by calendar days. No grant goes past it."
            ],
            "type": {
              "option": "u64"
            }
          },
          {
            "name": "budget",
            "docs": [
              "It pays through this budget alone, which other agents may share."
            ],
            "type": {
              "option": "pubkey"
            }
          }
        ]
      }
    },
    {
      "name": "boundsSet",
      "docs": [
        "What binds an agent beside its policy from here on."
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
            "name": "bounds",
            "type": {
              "defined": {
                "name": "bounds"
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
      "name": "budget",
      "docs": [
        "A budget: what the agents that name it may spend together. Address: `[\"budget\", operator, id: u64 le]`."
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
            "name": "reserved",
            "type": {
              "array": [
                "u8",
                6
              ]
            }
          },
          {
            "name": "id",
            "type": "u64"
          },
          {
            "name": "operator",
            "type": "pubkey"
          },
          {
            "name": "maxDailySpend",
            "docs": [
              "Micro-USDC in any 24 hours."
            ],
            "type": "u64"
          },
          {
            "name": "max30DaySpend",
            "docs": [
              "Micro-USDC in any 30 days; `u64::MAX` is no cap."
            ],
            "type": "u64"
          },
          {
            "name": "waitingDaily",
            "docs": [
              "The caps that wait, where `raised_at` is not 0."
            ],
            "type": "u64"
          },
          {
            "name": "waiting30Day",
            "type": "u64"
          },
          {
            "name": "raisedAt",
            "docs": [
              "Unix seconds; 0: none wait."
            ],
            "type": "i64"
          },
          {
            "name": "raisedDelaySeconds",
            "docs": [
              "The operator's loosening delay at that moment."
            ],
            "type": "u32"
          },
          {
            "name": "reservedToo",
            "type": {
              "array": [
                "u8",
                4
              ]
            }
          },
          {
            "name": "window",
            "docs": [
              "`purser_policy::SpendWindow`."
            ],
            "type": {
              "array": [
                "u64",
                62
              ]
            }
          },
          {
            "name": "month",
            "docs": [
              "`purser_policy::MonthWindow`."
            ],
            "type": {
              "array": [
                "u64",
                32
              ]
            }
          }
        ]
      }
    },
    {
      "name": "budgetCaps",
      "docs": [
        "The caps of a budget, in micro-USDC."
      ],
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "maxDailySpend",
            "type": "u64"
          },
          {
            "name": "max30DaySpend",
            "type": {
              "option": "u64"
            }
          }
        ]
      }
    },
    {
      "name": "budgetClosed",
      "docs": [
        "A budget that is no more."
      ],
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "operator",
            "type": "pubkey"
          },
          {
            "name": "budget",
            "type": "pubkey"
          },
          {
            "name": "admin",
            "type": "pubkey"
          }
        ]
      }
    },
    {
      "name": "budgetSet",
      "docs": [
        "A budget with these caps: from here on, or what they raise only from `loosens_at` on."
      ],
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "operator",
            "type": "pubkey"
          },
          {
            "name": "budget",
            "docs": [
              "Its address."
            ],
            "type": "pubkey"
          },
          {
            "name": "id",
            "type": "u64"
          },
          {
            "name": "caps",
            "type": {
              "defined": {
                "name": "budgetCaps"
              }
            }
          },
          {
            "name": "loosensAt",
            "docs": [
              "Unix seconds. A delay that is made longer moves it back."
            ],
            "type": {
              "option": "i64"
            }
          },
          {
            "name": "signer",
            "type": "pubkey"
          }
        ]
      }
    },
    {
      "name": "budgetUsed",
      "docs": [
        "Follows the [`TransferExecuted`] of a payment through a budget, and its [`GrantUsed`]."
      ],
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "agent",
            "type": "pubkey"
          },
          {
            "name": "number",
            "docs": [
              "Of the payment."
            ],
            "type": "u64"
          },
          {
            "name": "budget",
            "type": "pubkey"
          },
          {
            "name": "spentInWindow",
            "docs": [
              "What left through the budget in the 24 hours up to and including this payment, in micro-USDC."
            ],
            "type": "u64"
          }
        ]
      }
    },
    {
      "name": "draftArgs",
      "docs": [
        "A whole policy whose entries are written later."
      ],
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "hash",
            "docs": [
              "`PolicyDraft::hash_of` what it will hold."
            ],
            "type": {
              "array": [
                "u8",
                32
              ]
            }
          },
          {
            "name": "expectedVersion",
            "docs": [
              "The policy version that it is written against, and can be applied over."
            ],
            "type": "u32"
          },
          {
            "name": "rules",
            "type": {
              "defined": {
                "name": "rules"
              }
            }
          },
          {
            "name": "entries",
            "docs": [
              "`None`: anyone may be paid."
            ],
            "type": {
              "option": {
                "defined": {
                  "name": "entryCounts"
                }
              }
            }
          }
        ]
      }
    },
    {
      "name": "draftClosed",
      "docs": [
        "A draft that was given up, sealed or not."
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
            "name": "hash",
            "type": {
              "array": [
                "u8",
                32
              ]
            }
          },
          {
            "name": "signer",
            "type": "pubkey"
          }
        ]
      }
    },
    {
      "name": "draftSealed",
      "docs": [
        "A policy that is complete and waits to be applied."
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
            "name": "hash",
            "type": {
              "array": [
                "u8",
                32
              ]
            }
          },
          {
            "name": "expectedVersion",
            "docs": [
              "It applies over this policy version and no other."
            ],
            "type": "u32"
          },
          {
            "name": "policy",
            "type": {
              "defined": {
                "name": "policyRecord"
              }
            }
          },
          {
            "name": "sealedAt",
            "docs": [
              "Unix seconds."
            ],
            "type": "i64"
          },
          {
            "name": "loosensAt",
            "docs": [
              "Where it loosens anything: when it can be applied at the earliest. A delay that is made longer moves that back."
            ],
            "type": "i64"
          },
          {
            "name": "signer",
            "type": "pubkey"
          }
        ]
      }
    },
    {
      "name": "draftWritten",
      "docs": [
        "Entries added to a draft."
      ],
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "agent",
            "type": "pubkey"
          },
          {
            "name": "hash",
            "docs": [
              "What the draft was opened for."
            ],
            "type": {
              "array": [
                "u8",
                32
              ]
            }
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
      "name": "entryCounts",
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "wallets",
            "type": "u16"
          },
          {
            "name": "tokenAccounts",
            "type": "u16"
          }
        ]
      }
    },
    {
      "name": "grant",
      "docs": [
        "A grant. Address: `[\"grant\", agent, id: u64 le]`. One that has ended or is spent stays until somebody closes it."
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
              "Bit 0 beyond the allowlist, 1 beyond the largest single transfer, 2 beyond the daily limit; 3: the payee is a token",
              "account, and otherwise a wallet; 4 opened by the policy authority, 5 by an approver, and otherwise by the admin."
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
              "Not 0: under this version of the agent's policy alone."
            ],
            "type": "u32"
          },
          {
            "name": "id",
            "type": "u64"
          },
          {
            "name": "left",
            "docs": [
              "Micro-USDC that may still be paid."
            ],
            "type": "u64"
          },
          {
            "name": "expiresAt",
            "docs": [
              "The first Unix second at which it pays nothing any more."
            ],
            "type": "i64"
          },
          {
            "name": "tag",
            "docs": [
              "Not 0: for the one payment with this tag, of all that is left."
            ],
            "type": "u64"
          },
          {
            "name": "operator",
            "type": "pubkey"
          },
          {
            "name": "agent",
            "type": "pubkey"
          },
          {
            "name": "payee",
            "type": "pubkey"
          },
          {
            "name": "rentRefund",
            "docs": [
              "Gets the rent of this account back: named by who paid it."
            ],
            "type": "pubkey"
          },
          {
            "name": "openedAt",
            "docs": [
              "Unix second by the agent's clock. This pays nothing once the agent's `voided_at`, or for an approver's the operator's",
              "`approvers_voided_at`, is as late."
            ],
            "type": "i64"
          },
          {
            "name": "openedDelaySeconds",
            "docs": [
              "The operator's loosening delay at that moment."
            ],
            "type": "u32"
          },
          {
            "name": "reservedToo",
            "type": {
              "array": [
                "u8",
                4
              ]
            }
          },
          {
            "name": "memoHash",
            "docs": [
              "Not all zeroes: for payments alone whose memo has this SHA-256."
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
    },
    {
      "name": "grantClosed",
      "docs": [
        "From here on the grant pays nothing."
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
            "name": "grant",
            "type": "pubkey"
          },
          {
            "name": "left",
            "docs": [
              "What was not paid, in micro-USDC."
            ],
            "type": "u64"
          },
          {
            "name": "signer",
            "type": "pubkey"
          }
        ]
      }
    },
    {
      "name": "grantOpened",
      "docs": [
        "Leave to pay beyond the policy, or where an agent pays by such leave alone."
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
            "name": "grant",
            "docs": [
              "Its address."
            ],
            "type": "pubkey"
          },
          {
            "name": "id",
            "type": "u64"
          },
          {
            "name": "terms",
            "type": {
              "defined": {
                "name": "grantTerms"
              }
            }
          },
          {
            "name": "openedBy",
            "type": {
              "defined": {
                "name": "openedBy"
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
      "name": "grantPayee",
      "type": {
        "kind": "enum",
        "variants": [
          {
            "name": "wallet",
            "fields": [
              "pubkey"
            ]
          },
          {
            "name": "tokenAccount",
            "fields": [
              "pubkey"
            ]
          }
        ]
      }
    },
    {
      "name": "grantTerms",
      "docs": [
        "What a grant is for, as it is opened and announced."
      ],
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "payee",
            "type": {
              "defined": {
                "name": "grantPayee"
              }
            }
          },
          {
            "name": "amount",
            "docs": [
              "Micro-USDC."
            ],
            "type": "u64"
          },
          {
            "name": "expiresAt",
            "docs": [
              "The first Unix second at which it pays nothing any more."
            ],
            "type": "i64"
          },
          {
            "name": "beyondAllowlist",
            "type": "bool"
          },
          {
            "name": "beyondSingleLimit",
            "type": "bool"
          },
          {
            "name": "beyondDailyLimit",
            "docs": [
              "What is paid still counts against the limit of what others pay after it."
            ],
            "type": "bool"
          },
          {
            "name": "tag",
            "docs": [
              "For the one payment with this tag, of exactly `amount`."
            ],
            "type": {
              "option": "u64"
            }
          },
          {
            "name": "memoHash",
            "docs": [
              "For payments alone whose memo has this SHA-256."
            ],
            "type": {
              "option": {
                "array": [
                  "u8",
                  32
                ]
              }
            }
          },
          {
            "name": "policyVersion",
            "docs": [
              "Under this version of the policy alone."
            ],
            "type": {
              "option": "u32"
            }
          }
        ]
      }
    },
    {
      "name": "grantUsed",
      "docs": [
        "Follows the [`TransferExecuted`] of a payment that a grant let through."
      ],
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "agent",
            "type": "pubkey"
          },
          {
            "name": "number",
            "docs": [
              "Of the payment."
            ],
            "type": "u64"
          },
          {
            "name": "grant",
            "type": "pubkey"
          },
          {
            "name": "left",
            "docs": [
              "What may still be paid, in micro-USDC."
            ],
            "type": "u64"
          }
        ]
      }
    },
    {
      "name": "grantsVoided",
      "docs": [
        "From here on no grant that was opened before pays anything."
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
            "name": "voidedAt",
            "docs": [
              "The agent's from here on.",
              "Unix second: what was opened then or earlier pays nothing."
            ],
            "type": "i64"
          },
          {
            "name": "signer",
            "type": "pubkey"
          }
        ]
      }
    },
    {
      "name": "haltSet",
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
            "name": "haltedBy",
            "docs": [
              "Who holds it halted from here on; `None` when it was resumed."
            ],
            "type": {
              "option": {
                "defined": {
                  "name": "role"
                }
              }
            }
          },
          {
            "name": "signer",
            "type": "pubkey"
          }
        ]
      }
    },
    {
      "name": "openedBy",
      "docs": [
        "The key that opened a grant."
      ],
      "type": {
        "kind": "enum",
        "variants": [
          {
            "name": "admin"
          },
          {
            "name": "policyAuthority"
          },
          {
            "name": "approver"
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
            "name": "haltedBy",
            "docs": [
              "Not 0: all its agents are halted, by the [`Role`] with this [number](Role::halt_number)."
            ],
            "type": "u8"
          },
          {
            "name": "reserved",
            "type": "u8"
          },
          {
            "name": "looseningDelaySeconds",
            "docs": [
              "How long a policy that loosens anything waits before it can be applied."
            ],
            "type": "u32"
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
            "name": "guardian",
            "docs": [
              "May halt; the default key where there is none."
            ],
            "type": "pubkey"
          },
          {
            "name": "usdcMint",
            "type": "pubkey"
          },
          {
            "name": "transferAuthorities",
            "docs": [
              "Whoever holds one of them can pay within policy. Free places, all after the others, hold the default key."
            ],
            "type": {
              "array": [
                "pubkey",
                8
              ]
            }
          },
          {
            "name": "approversVoidedAt",
            "docs": [
              "Unix second at which an approver was last removed; only ever raised. A grant that an approver opened then or earlier pays",
              "nothing."
            ],
            "type": "i64"
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
            "name": "id",
            "type": "u64"
          },
          {
            "name": "usdcMint",
            "type": "pubkey"
          },
          {
            "name": "keys",
            "type": {
              "defined": {
                "name": "operatorRecord"
              }
            }
          }
        ]
      }
    },
    {
      "name": "operatorKeys",
      "docs": [
        "The keys that an operator hands out, and how long loosened policies wait."
      ],
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "policyAuthority",
            "type": "pubkey"
          },
          {
            "name": "transferAuthorities",
            "docs": [
              "One to eight."
            ],
            "type": {
              "vec": "pubkey"
            }
          },
          {
            "name": "guardian",
            "type": {
              "option": "pubkey"
            }
          },
          {
            "name": "looseningDelaySeconds",
            "type": "u32"
          }
        ]
      }
    },
    {
      "name": "operatorRecord",
      "docs": [
        "Who holds which key from here on. The default key stands for none."
      ],
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "admin",
            "type": "pubkey"
          },
          {
            "name": "pendingAdmin",
            "type": "pubkey"
          },
          {
            "name": "policyAuthority",
            "type": "pubkey"
          },
          {
            "name": "guardian",
            "type": "pubkey"
          },
          {
            "name": "transferAuthorities",
            "type": {
              "vec": "pubkey"
            }
          },
          {
            "name": "looseningDelaySeconds",
            "type": "u32"
          }
        ]
      }
    },
    {
      "name": "operatorUpdate",
      "docs": [
        "What to change; `None` leaves it as it is, the default key removes a guardian or a pending admin."
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
            "name": "transferAuthorities",
            "docs": [
              "All of them, one to eight. An old and a new key side by side make a rotation without a refusal."
            ],
            "type": {
              "option": {
                "vec": "pubkey"
              }
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
          },
          {
            "name": "looseningDelaySeconds",
            "type": {
              "option": "u32"
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
            "name": "keys",
            "type": {
              "defined": {
                "name": "operatorRecord"
              }
            }
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
            "type": "pubkey"
          },
          {
            "name": "paused",
            "type": "bool"
          },
          {
            "name": "policyVersion",
            "docs": [
              "The agent's policy version from here on."
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
        "The whole policy."
      ],
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "rules",
            "type": {
              "defined": {
                "name": "rules"
              }
            }
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
      "name": "policyDraft",
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
            "docs": [
              "Wallets and token accounts."
            ],
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
            "name": "sealed",
            "docs": [
              "1 once it is complete: from here on it does not change any more."
            ],
            "type": "u8"
          },
          {
            "name": "reserved",
            "type": "u8"
          },
          {
            "name": "sealedAt",
            "docs": [
              "Unix seconds."
            ],
            "type": "i64"
          },
          {
            "name": "expectedVersion",
            "docs": [
              "The policy version that it was written against: once the policy changes, it can only be dropped."
            ],
            "type": "u32"
          },
          {
            "name": "sealedDelaySeconds",
            "docs": [
              "The operator's loosening delay at the moment of the seal."
            ],
            "type": "u32"
          },
          {
            "name": "agent",
            "type": "pubkey"
          },
          {
            "name": "rentRefund",
            "docs": [
              "Gets the rent of this account back: named by who paid it."
            ],
            "type": "pubkey"
          },
          {
            "name": "hash",
            "docs": [
              "What it was opened for ([`PolicyDraft::hash_of`]). It can be sealed with this content alone."
            ],
            "type": {
              "array": [
                "u8",
                32
              ]
            }
          },
          {
            "name": "policy",
            "type": {
              "defined": {
                "name": "storedPolicy"
              }
            }
          }
        ]
      }
    },
    {
      "name": "policyRecord",
      "docs": [
        "A whole policy as an event can carry it."
      ],
      "type": {
        "kind": "struct",
        "fields": [
          {
            "name": "rules",
            "type": {
              "defined": {
                "name": "rules"
              }
            }
          },
          {
            "name": "allowlist",
            "type": {
              "defined": {
                "name": "allowlistRecord"
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
            "name": "policy",
            "type": {
              "defined": {
                "name": "policyRecord"
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
      "name": "rentRefundSet",
      "docs": [
        "Who gets the agent's rent back from here on."
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
            "name": "rentRefund",
            "type": "pubkey"
          }
        ]
      }
    },
    {
      "name": "role",
      "docs": [
        "The key that a signer holds."
      ],
      "type": {
        "kind": "enum",
        "variants": [
          {
            "name": "admin"
          },
          {
            "name": "policyAuthority"
          },
          {
            "name": "guardian"
          }
        ]
      }
    },
    {
      "name": "rules",
      "docs": [
        "The rules of a policy beside its allowlist, as arguments and events hold them. Amounts in micro-USDC; `None` is no limit."
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
          }
        ]
      }
    },
    {
      "name": "storedPolicy",
      "docs": [
        "A policy without its allowlist's entries, as accounts store it."
      ],
      "serialization": "bytemuck",
      "repr": {
        "kind": "c"
      },
      "type": {
        "kind": "struct",
        "fields": [
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
            "name": "walletCount",
            "docs": [
              "How many of the entries at the account's tail are wallets; token accounts follow."
            ],
            "type": "u16"
          },
          {
            "name": "flags",
            "docs": [
              "Bit 0 paused, 1 memo required, 2 `max_single_transfer` applies, 3 `max_daily_spend` applies, 4 allowlist applies."
            ],
            "type": "u8"
          },
          {
            "name": "bounds",
            "docs": [
              "Of an agent, [`Bounds`], which a new policy keeps; of a draft 0. Not 0: `transfer` and `transfer_checked` pay nothing."
            ],
            "type": "u8"
          },
          {
            "name": "tagBuckets",
            "docs": [
              "Of an agent, how many buckets of tags end its account, which a new policy keeps; of a draft 0."
            ],
            "type": "u16"
          },
          {
            "name": "tokenAccountCount",
            "docs": [
              "Of an agent, how many token accounts follow the wallets; of a draft 0."
            ],
            "type": "u16"
          }
        ]
      }
    },
    {
      "name": "tagBucketsSet",
      "docs": [
        "An agent remembers so many buckets of tags."
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
            "name": "buckets",
            "type": "u16"
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
            "name": "number",
            "docs": [
              "Of this payment among all of the agent, from 1: a number that is missing is a payment that was not shown."
            ],
            "type": "u64"
          },
          {
            "name": "transferId",
            "docs": [
              "The last eight bytes are the payment's tag, little endian."
            ],
            "type": {
              "array": [
                "u8",
                16
              ]
            }
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
              "UTF-8 wherever a relayer signed: the program does not look, which would cost more than all other rules together.",
              "Empty where there is none."
            ],
            "type": "bytes"
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
            "name": "source",
            "docs": [
              "The agent's token account that it was taken from: its USDC account, or another one, of any mint."
            ],
            "type": "pubkey"
          },
          {
            "name": "mint",
            "type": "pubkey"
          },
          {
            "name": "amount",
            "docs": [
              "In the mint's smallest unit."
            ],
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
