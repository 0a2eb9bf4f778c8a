--
-- PostgreSQL database dump
--

\restrict fHbkqh2oxGd7AtrYM1RZDv1YKRXd9dhFZrIrS5sxHxgumqDL8DcVigh64jEHmwx

-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: binary; Type: COLLATION; Schema: public; Owner: -
--

CREATE COLLATION public."binary" (provider = libc, locale = 'C');


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: _sqlx_migrations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public._sqlx_migrations (
    version bigint NOT NULL,
    description text NOT NULL,
    installed_on timestamp with time zone DEFAULT now() NOT NULL,
    success boolean NOT NULL,
    checksum bytea NOT NULL,
    execution_time bigint NOT NULL
);


--
-- Name: accounts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.accounts (
    account_id text NOT NULL COLLATE public."binary",
    operator_id text NOT NULL COLLATE public."binary",
    name text NOT NULL COLLATE public."binary",
    metadata text COLLATE public."binary",
    address text NOT NULL COLLATE public."binary",
    token_account text NOT NULL COLLATE public."binary",
    status text NOT NULL COLLATE public."binary",
    duplicates text DEFAULT 'as_asked'::text NOT NULL COLLATE public."binary",
    provisioning text NOT NULL COLLATE public."binary",
    created_at text NOT NULL COLLATE public."binary",
    allowlist_entries bigint DEFAULT 0 NOT NULL,
    is_closed boolean DEFAULT false NOT NULL,
    approvals text DEFAULT 'on'::text NOT NULL COLLATE public."binary",
    tags text DEFAULT ''::text NOT NULL COLLATE public."binary",
    create_token_accounts boolean DEFAULT false NOT NULL,
    watched_usdc text COLLATE public."binary",
    watched_at text COLLATE public."binary",
    CONSTRAINT accounts_approvals_check CHECK ((approvals = ANY (ARRAY['on'::text, 'off'::text]))),
    CONSTRAINT accounts_created_at_check CHECK ((length(created_at) = 27)),
    CONSTRAINT accounts_duplicates_check CHECK ((duplicates = ANY (ARRAY['as_asked'::text, 'refused'::text, 'paid'::text]))),
    CONSTRAINT accounts_provisioning_check CHECK ((provisioning = ANY (ARRAY['requested'::text, 'ready'::text]))),
    CONSTRAINT accounts_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text]))),
    CONSTRAINT accounts_watched_at_check CHECK ((length(watched_at) = 27))
);


--
-- Name: action_transactions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.action_transactions (
    tx_signature text NOT NULL COLLATE public."binary",
    operator_id text NOT NULL COLLATE public."binary",
    action_id text COLLATE public."binary",
    last_valid_block_height bigint,
    is_step boolean NOT NULL,
    stop text COLLATE public."binary",
    account_id text COLLATE public."binary",
    sent_at text NOT NULL COLLATE public."binary",
    CONSTRAINT action_transactions_check CHECK (((stop IS NOT NULL) OR ((action_id IS NOT NULL) AND (last_valid_block_height IS NOT NULL)))),
    CONSTRAINT action_transactions_sent_at_check CHECK ((length(sent_at) = 27)),
    CONSTRAINT action_transactions_stop_check CHECK ((stop = ANY (ARRAY['pause'::text, 'halt'::text])))
);


--
-- Name: actions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.actions (
    action_id text NOT NULL COLLATE public."binary",
    operator_id text NOT NULL COLLATE public."binary",
    name text NOT NULL COLLATE public."binary",
    outcome text NOT NULL COLLATE public."binary",
    key_id text COLLATE public."binary",
    session_id text COLLATE public."binary",
    address text COLLATE public."binary",
    object_id text COLLATE public."binary",
    made_id text COLLATE public."binary",
    before_json text COLLATE public."binary",
    after_json text COLLATE public."binary",
    tx_signature text COLLATE public."binary",
    request_id text COLLATE public."binary",
    created_at text NOT NULL COLLATE public."binary",
    is_unchanged boolean DEFAULT false NOT NULL,
    CONSTRAINT actions_created_at_check CHECK ((length(created_at) = 27)),
    CONSTRAINT actions_outcome_check CHECK ((outcome = ANY (ARRAY['unknown'::text, 'done'::text])))
);


--
-- Name: api_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.api_keys (
    key_id text NOT NULL COLLATE public."binary",
    key_hash text NOT NULL COLLATE public."binary",
    operator_id text NOT NULL COLLATE public."binary",
    account_id text COLLATE public."binary",
    name text COLLATE public."binary",
    hint text NOT NULL COLLATE public."binary",
    created_at text NOT NULL COLLATE public."binary",
    expires_at text COLLATE public."binary",
    revoked_at text COLLATE public."binary",
    last_used_at text COLLATE public."binary",
    allowed_cidrs text COLLATE public."binary",
    scopes text COLLATE public."binary",
    made_by text COLLATE public."binary",
    CONSTRAINT api_keys_created_at_check CHECK ((length(created_at) = 27)),
    CONSTRAINT api_keys_expires_at_check CHECK ((length(expires_at) = 27)),
    CONSTRAINT api_keys_key_hash_check CHECK ((length(key_hash) = 64)),
    CONSTRAINT api_keys_last_used_at_check CHECK ((length(last_used_at) = 27)),
    CONSTRAINT api_keys_revoked_at_check CHECK ((length(revoked_at) = 27))
);


--
-- Name: co_signatures; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.co_signatures (
    operator_id text NOT NULL COLLATE public."binary",
    transfer_id text NOT NULL COLLATE public."binary",
    number bigint NOT NULL,
    approver text NOT NULL COLLATE public."binary",
    grant_address text NOT NULL COLLATE public."binary",
    signed_bytes text NOT NULL COLLATE public."binary",
    tx_signature text NOT NULL COLLATE public."binary",
    last_valid_block_height bigint NOT NULL,
    created_at text NOT NULL COLLATE public."binary",
    look_at text COLLATE public."binary",
    is_unspent boolean DEFAULT false NOT NULL,
    CONSTRAINT co_signatures_created_at_check CHECK ((length(created_at) = 27)),
    CONSTRAINT co_signatures_look_at_check CHECK ((length(look_at) = 27)),
    CONSTRAINT co_signatures_number_check CHECK (((number >= 1) AND (number <= 3)))
);


--
-- Name: deleted_webhooks; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deleted_webhooks (
    operator_id text NOT NULL COLLATE public."binary",
    webhook_id text NOT NULL COLLATE public."binary"
);


--
-- Name: deliveries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deliveries (
    operator_id text NOT NULL COLLATE public."binary",
    webhook_id text NOT NULL COLLATE public."binary",
    event_id text NOT NULL COLLATE public."binary",
    state text NOT NULL COLLATE public."binary",
    failures bigint NOT NULL,
    next_attempt_at text COLLATE public."binary",
    ended_at text COLLATE public."binary",
    attempts bigint NOT NULL,
    lease_holder text COLLATE public."binary",
    lease_expires_at text COLLATE public."binary",
    created_at text NOT NULL COLLATE public."binary",
    CONSTRAINT deliveries_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT deliveries_check CHECK (((state = 'pending'::text) = (next_attempt_at IS NOT NULL))),
    CONSTRAINT deliveries_check1 CHECK (((state = 'pending'::text) = (ended_at IS NULL))),
    CONSTRAINT deliveries_check2 CHECK (((lease_holder IS NULL) = (lease_expires_at IS NULL))),
    CONSTRAINT deliveries_created_at_check CHECK ((length(created_at) = 27)),
    CONSTRAINT deliveries_ended_at_check CHECK ((length(ended_at) = 27)),
    CONSTRAINT deliveries_failures_check CHECK ((failures >= 0)),
    CONSTRAINT deliveries_next_attempt_at_check CHECK ((length(next_attempt_at) = 27)),
    CONSTRAINT deliveries_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'delivered'::text, 'undelivered'::text])))
);


--
-- Name: delivery_attempts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.delivery_attempts (
    operator_id text NOT NULL COLLATE public."binary",
    webhook_id text NOT NULL COLLATE public."binary",
    event_id text NOT NULL COLLATE public."binary",
    attempt bigint NOT NULL,
    started_at text NOT NULL COLLATE public."binary",
    ended_at text NOT NULL COLLATE public."binary",
    status_code bigint,
    body text COLLATE public."binary",
    unanswered text COLLATE public."binary",
    CONSTRAINT delivery_attempts_attempt_check CHECK ((attempt >= 1)),
    CONSTRAINT delivery_attempts_check CHECK (((status_code IS NULL) = (unanswered IS NOT NULL))),
    CONSTRAINT delivery_attempts_check1 CHECK (((status_code IS NULL) = (body IS NULL))),
    CONSTRAINT delivery_attempts_ended_at_check CHECK ((length(ended_at) = 27)),
    CONSTRAINT delivery_attempts_started_at_check CHECK ((length(started_at) = 27))
);


--
-- Name: denials; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.denials (
    operator_id text NOT NULL COLLATE public."binary",
    number bigint NOT NULL,
    transfer_id text NOT NULL COLLATE public."binary",
    document text NOT NULL COLLATE public."binary",
    signature text NOT NULL COLLATE public."binary",
    CONSTRAINT denials_number_check CHECK ((number >= 1))
);


--
-- Name: events; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.events (
    operator_id text NOT NULL COLLATE public."binary",
    event_id text NOT NULL COLLATE public."binary",
    event_type text NOT NULL COLLATE public."binary",
    account_id text COLLATE public."binary",
    transfer_id text COLLATE public."binary",
    threshold_usdc text COLLATE public."binary",
    webhook_id text COLLATE public."binary",
    data text NOT NULL COLLATE public."binary",
    created_at text NOT NULL COLLATE public."binary",
    fact text COLLATE public."binary",
    place bigint,
    CONSTRAINT events_check CHECK (((event_type ~~ 'transfer.%'::text) = (transfer_id IS NOT NULL))),
    CONSTRAINT events_check1 CHECK (((event_type = 'balance.low_threshold'::text) = (threshold_usdc IS NOT NULL))),
    CONSTRAINT events_check2 CHECK (((event_type = 'webhook.test'::text) = (webhook_id IS NOT NULL))),
    CONSTRAINT events_created_at_check CHECK ((length(created_at) = 27))
);


--
-- Name: grants_opened; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.grants_opened (
    operator_id text NOT NULL COLLATE public."binary",
    account_id text NOT NULL COLLATE public."binary",
    grant_id text NOT NULL COLLATE public."binary",
    tx_signature text NOT NULL COLLATE public."binary",
    slot bigint NOT NULL,
    signer text NOT NULL COLLATE public."binary",
    opened_at text NOT NULL COLLATE public."binary",
    expires_unix bigint NOT NULL,
    CONSTRAINT grants_opened_grant_id_check CHECK ((length(grant_id) = 16)),
    CONSTRAINT grants_opened_opened_at_check CHECK ((length(opened_at) = 27))
);


--
-- Name: history; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.history (
    operator_id text NOT NULL COLLATE public."binary",
    entry_id text NOT NULL COLLATE public."binary",
    account_id text NOT NULL COLLATE public."binary",
    network text NOT NULL COLLATE public."binary",
    kind text NOT NULL COLLATE public."binary",
    status text NOT NULL COLLATE public."binary",
    amount_usdc text NOT NULL COLLATE public."binary",
    counterparty text COLLATE public."binary",
    memo text COLLATE public."binary",
    transfer_id text COLLATE public."binary",
    tx_signature text COLLATE public."binary",
    slot bigint,
    reason text COLLATE public."binary",
    message text COLLATE public."binary",
    is_final boolean NOT NULL,
    created_at text NOT NULL COLLATE public."binary",
    "position" text NOT NULL COLLATE public."binary",
    number bigint,
    tag text COLLATE public."binary",
    read_at text COLLATE public."binary",
    spent_micros bigint,
    policy_version bigint,
    asked_at bigint,
    CONSTRAINT history_check CHECK (((status = 'settled'::text) = (tx_signature IS NOT NULL))),
    CONSTRAINT history_check1 CHECK (((status = 'settled'::text) = (slot IS NOT NULL))),
    CONSTRAINT history_check2 CHECK (((status = 'rejected'::text) = (reason IS NOT NULL))),
    CONSTRAINT history_check3 CHECK (((status = 'rejected'::text) = (message IS NOT NULL))),
    CONSTRAINT history_created_at_check CHECK ((length(created_at) = 27)),
    CONSTRAINT history_kind_check CHECK ((kind = ANY (ARRAY['transfer'::text, 'deposit'::text, 'withdrawal'::text]))),
    CONSTRAINT history_network_check CHECK ((network = ANY (ARRAY['test'::text, 'live'::text]))),
    CONSTRAINT history_read_at_check CHECK ((length(read_at) = 27)),
    CONSTRAINT history_status_check CHECK ((status = ANY (ARRAY['settled'::text, 'rejected'::text]))),
    CONSTRAINT history_tag_check CHECK ((length(tag) = 16))
);


--
-- Name: ledgers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.ledgers (
    operator_id text NOT NULL COLLATE public."binary",
    account_id text NOT NULL COLLATE public."binary",
    booked_micros bigint NOT NULL,
    unexplained_micros bigint NOT NULL,
    seen_micros bigint NOT NULL,
    seen_slot bigint NOT NULL,
    payments_up_to bigint DEFAULT 0 NOT NULL,
    payments_beyond text DEFAULT ''::text NOT NULL COLLATE public."binary",
    payments_unnumbered bigint DEFAULT 0 NOT NULL,
    payments_wanted bigint DEFAULT 0 NOT NULL,
    placed_micros bigint DEFAULT 0 NOT NULL,
    newest_slot bigint DEFAULT 0 NOT NULL
);


--
-- Name: marks; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.marks (
    name text NOT NULL COLLATE public."binary",
    at text NOT NULL COLLATE public."binary",
    holder text COLLATE public."binary",
    CONSTRAINT marks_at_check CHECK ((length(at) = 27))
);


--
-- Name: operators; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.operators (
    operator_id text NOT NULL COLLATE public."binary",
    network text NOT NULL COLLATE public."binary",
    name text NOT NULL COLLATE public."binary",
    address text NOT NULL COLLATE public."binary",
    created_at text NOT NULL COLLATE public."binary",
    last_place bigint,
    limits_since text COLLATE public."binary",
    head_number bigint DEFAULT 0 NOT NULL,
    head_signature text COLLATE public."binary",
    head_next_at text COLLATE public."binary",
    requires_reason boolean DEFAULT false NOT NULL,
    CONSTRAINT operators_created_at_check CHECK ((length(created_at) = 27)),
    CONSTRAINT operators_head_next_at_check CHECK ((length(head_next_at) = 27)),
    CONSTRAINT operators_limits_since_check CHECK ((length(limits_since) = 27)),
    CONSTRAINT operators_network_check CHECK ((network = ANY (ARRAY['test'::text, 'live'::text])))
);


--
-- Name: passkeys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.passkeys (
    passkey_id text NOT NULL COLLATE public."binary",
    key_id text NOT NULL COLLATE public."binary",
    name text NOT NULL COLLATE public."binary",
    credential_id text NOT NULL COLLATE public."binary",
    credential text NOT NULL COLLATE public."binary",
    created_at text NOT NULL COLLATE public."binary",
    used_at text COLLATE public."binary",
    CONSTRAINT passkeys_created_at_check CHECK ((length(created_at) = 27)),
    CONSTRAINT passkeys_used_at_check CHECK ((length(used_at) = 27))
);


--
-- Name: pending_fetches; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.pending_fetches (
    network text NOT NULL COLLATE public."binary",
    tx_signature text NOT NULL COLLATE public."binary",
    slot bigint NOT NULL,
    tries bigint NOT NULL,
    next_try_at text NOT NULL COLLATE public."binary",
    CONSTRAINT pending_fetches_network_check CHECK ((network = ANY (ARRAY['test'::text, 'live'::text]))),
    CONSTRAINT pending_fetches_next_try_at_check CHECK ((length(next_try_at) = 27)),
    CONSTRAINT pending_fetches_tries_check CHECK ((tries >= 1))
);


--
-- Name: pending_policies; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.pending_policies (
    operator_id text NOT NULL COLLATE public."binary",
    account_id text NOT NULL COLLATE public."binary",
    hash text NOT NULL COLLATE public."binary",
    expected_version bigint NOT NULL,
    allowlist_entries bigint DEFAULT 0 NOT NULL,
    due_unix bigint NOT NULL,
    is_announced boolean NOT NULL,
    created_at text NOT NULL COLLATE public."binary",
    sealed_by text COLLATE public."binary",
    CONSTRAINT pending_policies_created_at_check CHECK ((length(created_at) = 27)),
    CONSTRAINT pending_policies_hash_check CHECK ((length(hash) = 64))
);


--
-- Name: policy_askings; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.policy_askings (
    operator_id text NOT NULL COLLATE public."binary",
    account_id text NOT NULL COLLATE public."binary",
    done_by text NOT NULL COLLATE public."binary",
    version bigint,
    key_id text NOT NULL COLLATE public."binary",
    reason text COLLATE public."binary",
    action_id text COLLATE public."binary"
);


--
-- Name: policy_versions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.policy_versions (
    operator_id text NOT NULL COLLATE public."binary",
    account_id text NOT NULL COLLATE public."binary",
    version bigint NOT NULL,
    tx_signature text COLLATE public."binary",
    set_at text COLLATE public."binary",
    signer text COLLATE public."binary",
    policy text COLLATE public."binary",
    CONSTRAINT policy_versions_check CHECK (((tx_signature IS NULL) = (set_at IS NULL))),
    CONSTRAINT policy_versions_set_at_check CHECK ((length(set_at) = 27))
);


--
-- Name: requests; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.requests (
    operator_id text NOT NULL COLLATE public."binary",
    idempotency_key text NOT NULL COLLATE public."binary",
    fingerprint text NOT NULL COLLATE public."binary",
    key_id text NOT NULL COLLATE public."binary",
    seed text NOT NULL COLLATE public."binary",
    lease text NOT NULL COLLATE public."binary",
    lease_expires_at text NOT NULL COLLATE public."binary",
    status_code bigint,
    answer text COLLATE public."binary",
    is_sealed boolean DEFAULT false NOT NULL,
    created_at text NOT NULL COLLATE public."binary",
    CONSTRAINT requests_check CHECK (((status_code IS NULL) = (answer IS NULL))),
    CONSTRAINT requests_created_at_check CHECK ((length(created_at) = 27)),
    CONSTRAINT requests_fingerprint_check CHECK ((length(fingerprint) = 64)),
    CONSTRAINT requests_lease_expires_at_check CHECK ((length(lease_expires_at) = 27)),
    CONSTRAINT requests_seed_check CHECK ((length(seed) = 32)),
    CONSTRAINT requests_status_code_check CHECK ((((status_code >= 200) AND (status_code <= 299)) OR (status_code = 303)))
);


--
-- Name: sessions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sessions (
    token_hash text NOT NULL COLLATE public."binary",
    key_id text NOT NULL COLLATE public."binary",
    started_at text NOT NULL COLLATE public."binary",
    used_at text NOT NULL COLLATE public."binary",
    address text COLLATE public."binary",
    passkey_id text COLLATE public."binary",
    CONSTRAINT sessions_started_at_check CHECK ((length(started_at) = 27)),
    CONSTRAINT sessions_token_hash_check CHECK ((length(token_hash) = 64)),
    CONSTRAINT sessions_used_at_check CHECK ((length(used_at) = 27))
);


--
-- Name: token_account_creations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.token_account_creations (
    operator_id text NOT NULL COLLATE public."binary",
    account_id text NOT NULL COLLATE public."binary",
    wallet text NOT NULL COLLATE public."binary",
    idempotency_key text NOT NULL COLLATE public."binary",
    created_at text NOT NULL COLLATE public."binary",
    lease_expires_at text NOT NULL COLLATE public."binary",
    CONSTRAINT token_account_creations_created_at_check CHECK ((length(created_at) = 27)),
    CONSTRAINT token_account_creations_lease_expires_at_check CHECK ((length(lease_expires_at) = 27)),
    CONSTRAINT token_account_creations_wallet_check CHECK (((length(wallet) >= 32) AND (length(wallet) <= 44)))
);


--
-- Name: transfers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.transfers (
    operator_id text NOT NULL COLLATE public."binary",
    transfer_id text NOT NULL COLLATE public."binary",
    network text NOT NULL COLLATE public."binary",
    account_id text NOT NULL COLLATE public."binary",
    key_id text NOT NULL COLLATE public."binary",
    recipient text NOT NULL COLLATE public."binary",
    amount_usdc text NOT NULL COLLATE public."binary",
    memo text COLLATE public."binary",
    idempotency_key text NOT NULL COLLATE public."binary",
    key_use bigint,
    key_expires_unix bigint NOT NULL,
    fingerprint text NOT NULL COLLATE public."binary",
    fee_payer text COLLATE public."binary",
    refusal text COLLATE public."binary",
    state text NOT NULL COLLATE public."binary",
    lease_holder text NOT NULL COLLATE public."binary",
    lease_expires_at text NOT NULL COLLATE public."binary",
    signed_bytes text COLLATE public."binary",
    tx_signature text COLLATE public."binary",
    last_valid_block_height bigint,
    sent_at text COLLATE public."binary",
    slot bigint,
    ended_at text COLLATE public."binary",
    reason text COLLATE public."binary",
    message text COLLATE public."binary",
    checks text COLLATE public."binary",
    policy_version bigint,
    reopened bigint DEFAULT 0 NOT NULL,
    denial bigint,
    retry_at text COLLATE public."binary",
    resource text COLLATE public."binary",
    created_at text NOT NULL COLLATE public."binary",
    updated_at text NOT NULL COLLATE public."binary",
    asks_approval bigint DEFAULT 0 NOT NULL,
    approval_reason text COLLATE public."binary",
    approval_expires_at text COLLATE public."binary",
    asked_at bigint,
    earlier_valid_until bigint,
    paid_before_count bigint,
    paid_before_usdc text COLLATE public."binary",
    paid_before_last_at text COLLATE public."binary",
    to_wallet text COLLATE public."binary",
    CONSTRAINT transfers_approval_expires_at_check CHECK ((length(approval_expires_at) = 27)),
    CONSTRAINT transfers_check CHECK (((state <> ALL (ARRAY['signed'::text, 'sent'::text])) OR ((signed_bytes IS NOT NULL) AND (tx_signature IS NOT NULL) AND (last_valid_block_height IS NOT NULL)))),
    CONSTRAINT transfers_check1 CHECK (((state <> 'sent'::text) OR (sent_at IS NOT NULL))),
    CONSTRAINT transfers_check2 CHECK (((state <> 'settled'::text) OR ((tx_signature IS NOT NULL) AND (slot IS NOT NULL)))),
    CONSTRAINT transfers_check3 CHECK (((state <> ALL (ARRAY['rejected'::text, 'failed'::text])) OR ((reason IS NOT NULL) AND (message IS NOT NULL)))),
    CONSTRAINT transfers_check4 CHECK (((state <> 'rejected'::text) OR (checks IS NOT NULL))),
    CONSTRAINT transfers_check5 CHECK (((ended_at IS NOT NULL) = (state = ANY (ARRAY['settled'::text, 'rejected'::text, 'failed'::text])))),
    CONSTRAINT transfers_created_at_check CHECK ((length(created_at) = 27)),
    CONSTRAINT transfers_ended_at_check CHECK ((length(ended_at) = 27)),
    CONSTRAINT transfers_fingerprint_check CHECK ((length(fingerprint) = 64)),
    CONSTRAINT transfers_key_use_check CHECK ((key_use >= 1)),
    CONSTRAINT transfers_lease_expires_at_check CHECK ((length(lease_expires_at) = 27)),
    CONSTRAINT transfers_network_check CHECK ((network = ANY (ARRAY['test'::text, 'live'::text]))),
    CONSTRAINT transfers_paid_before_last_at_check CHECK ((length(paid_before_last_at) = 27)),
    CONSTRAINT transfers_retry_at_check CHECK ((length(retry_at) = 27)),
    CONSTRAINT transfers_sent_at_check CHECK ((length(sent_at) = 27)),
    CONSTRAINT transfers_state_check CHECK ((state = ANY (ARRAY['claimed'::text, 'signed'::text, 'sent'::text, 'settled'::text, 'rejected'::text, 'failed'::text]))),
    CONSTRAINT transfers_to_wallet_check CHECK (((length(to_wallet) >= 32) AND (length(to_wallet) <= 44))),
    CONSTRAINT transfers_updated_at_check CHECK ((length(updated_at) = 27))
);


--
-- Name: walks; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.walks (
    network text NOT NULL COLLATE public."binary",
    address text NOT NULL COLLATE public."binary",
    until_signature text COLLATE public."binary",
    until_slot bigint,
    under_way boolean NOT NULL,
    top_signature text COLLATE public."binary",
    top_slot bigint,
    before_signature text COLLATE public."binary",
    CONSTRAINT walks_check CHECK (((until_signature IS NULL) = (until_slot IS NULL))),
    CONSTRAINT walks_check1 CHECK (((top_signature IS NULL) = (top_slot IS NULL))),
    CONSTRAINT walks_check2 CHECK ((under_way OR ((top_signature IS NULL) AND (before_signature IS NULL)))),
    CONSTRAINT walks_network_check CHECK ((network = ANY (ARRAY['test'::text, 'live'::text])))
);


--
-- Name: webhooks; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.webhooks (
    webhook_id text NOT NULL COLLATE public."binary",
    operator_id text NOT NULL COLLATE public."binary",
    url text NOT NULL COLLATE public."binary",
    events text NOT NULL COLLATE public."binary",
    account_ids text NOT NULL COLLATE public."binary",
    threshold_usdc text COLLATE public."binary",
    status text NOT NULL COLLATE public."binary",
    disabled_reason text COLLATE public."binary",
    disabled_at text COLLATE public."binary",
    secret text NOT NULL COLLATE public."binary",
    previous_secret text COLLATE public."binary",
    previous_until text COLLATE public."binary",
    failures bigint NOT NULL,
    failing_since text COLLATE public."binary",
    created_at text NOT NULL COLLATE public."binary",
    updated_at text NOT NULL COLLATE public."binary",
    watches_since text COLLATE public."binary",
    CONSTRAINT webhooks_check CHECK (((status = 'disabled'::text) = (disabled_reason IS NOT NULL))),
    CONSTRAINT webhooks_check1 CHECK (((status = 'disabled'::text) = (disabled_at IS NOT NULL))),
    CONSTRAINT webhooks_check2 CHECK (((previous_secret IS NULL) = (previous_until IS NULL))),
    CONSTRAINT webhooks_check3 CHECK (((failures = 0) = (failing_since IS NULL))),
    CONSTRAINT webhooks_created_at_check CHECK ((length(created_at) = 27)),
    CONSTRAINT webhooks_disabled_at_check CHECK ((length(disabled_at) = 27)),
    CONSTRAINT webhooks_disabled_reason_check CHECK ((disabled_reason = ANY (ARRAY['requested'::text, 'failing'::text]))),
    CONSTRAINT webhooks_failing_since_check CHECK ((length(failing_since) = 27)),
    CONSTRAINT webhooks_failures_check CHECK ((failures >= 0)),
    CONSTRAINT webhooks_previous_until_check CHECK ((length(previous_until) = 27)),
    CONSTRAINT webhooks_status_check CHECK ((status = ANY (ARRAY['enabled'::text, 'disabled'::text]))),
    CONSTRAINT webhooks_updated_at_check CHECK ((length(updated_at) = 27)),
    CONSTRAINT webhooks_watches_since_check CHECK ((length(watches_since) = 27))
);


--
-- Data for Name: _sqlx_migrations; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public._sqlx_migrations (version, description, installed_on, success, checksum, execution_time) FROM stdin;
1	operators accounts keys	2026-12-01 15:42:50.988242+00	t	\\x2bfee6806aaa601721f3de9f41a94d902abbb879205b7cc354586f8be9c1acade1e4e01671bf704db27da31ea705a3c5	24628283
2	transfers	2026-12-01 15:42:51.013569+00	t	\\xb9867b6d0db5f299e16e98ee0cf2d72e825c12b5e61c69b860df66d1e8f591d75188ecd70d61e9351bf2b3bafb44dec1	13927729
3	history	2026-12-01 15:42:51.027935+00	t	\\x83601d02939c0739db61143d30073255613cec96288af23086c68d5cba2394ec1f1972642da650831623ee810443a91d	26306458
4	events webhooks	2026-12-01 15:42:51.054806+00	t	\\x746bc929f6dea72c8d92f97b2d61866bb8c9752d587f759a6ac0b7904aa39215ff82d904c55c73aafd7ba17a5f4d19a5	33993031
5	policies	2026-12-01 15:42:51.08955+00	t	\\xa1cc0f5da69ebaefa37ae2b53935c39e618a6b2ea769a806e1b432dc6a8695f07fc0d272e55143335f4630d9f13f7a91	18187369
6	sessions	2026-12-01 15:42:51.108539+00	t	\\x8351de3926e3853a865801d6d67af08f68330b552e4862214e76dc689ce260adbcebf85ec965345b4fca1df0bff9cdb7	3814068
7	denials	2026-12-01 15:42:51.112673+00	t	\\x882040998bc8b9474a6938c5992ec11fbb17db23997e4ba5f41af67ca3a72d1341d9fbeab5599ec5cebb72130515d44e	5510860
8	roles	2026-12-01 15:42:51.118452+00	t	\\xbe2dcf72bcc28c74171d92840522429080e4e981175e3a942a34924c8bc637514be9b9b125b5b038b5a0a10f47c0cc27	960225
9	approvals	2026-12-01 15:42:51.119615+00	t	\\xa3acc668ec0d3bcaf6101a94815de4467930a186786e327abfe2b0bf991252adcfbbfdedee0315103492dbda51d6c682	2974653
11	actions	2026-12-01 15:42:51.122803+00	t	\\x42571b1425e653d5a57585727cd419465ea7346a7ff25cd68fc469dc4e5d3dffd4d9a948eaaaac1a3c1f1c9a68383ae4	5973203
12	approvals off	2026-12-01 15:42:51.129044+00	t	\\xc6fa218700af7aab8885ae399b28e0462d8c07a40fecb3e26e4ccbf636f0e0bc922739ae27304c80b09bbd1b74398646	1183155
13	tags	2026-12-01 15:42:51.130582+00	t	\\xaec1ca829cd7ecc6c79c75045b354725d330765366185d4c9a3bc495dff2637260f052d54d56778bdc0454bc1f1df1de	958382
14	transfers spent	2026-12-01 15:42:51.131829+00	t	\\x8d3b9aaca6c2126ec70b85901f1c97c9820c4d5b6d7417e75f42607262be31e914a0fd431901b141000d794d7e773bcb	1708341
15	passkeys	2026-12-01 15:42:51.133753+00	t	\\xf64f331eee755e8ba626e6acc99c555d44f4b66db8fa7e0adc429d5dbf0b3083ce5c06365823db8ee9245b54a9615d99	4974153
16	co signatures	2026-12-01 15:42:51.139112+00	t	\\x1bb8247a7859058dffffd967c2d4f434d08cd6f0a1d90f3f8a9da54188d0354cc9c115c6588b8b4f0b7d627ffe95784f	5829083
17	operator events	2026-12-01 15:42:51.145257+00	t	\\xafb094ac130d29b76279a1711790534e75839e86454d494518adaf2f1cd9cedd184c5b85ebbc99a79b222beff526201d	1118302
18	approvals shown	2026-12-01 15:42:51.146674+00	t	\\x2622c5ebf1536e7537a3031bf97e1eba62945f16add75d92350feffc9662884588f27f00e310065b22d556d39846ebc6	4752684
19	actions named	2026-12-01 15:42:51.151716+00	t	\\x3d36e3436cc1c87ef71fd3efd2fea2bb940e4bcd53c3ed07d651a5c18c9ddf53979b2f4c79b49cc02bae90dd28743012	1656738
20	paid once	2026-12-01 15:42:51.153611+00	t	\\x45054f51caa51f8221905e5d6cf57b1885475fc8047a87d046fd34c503ad30c08a10c0607c84aa0662d59a53ec3c6046	784317
21	paid before	2026-12-01 15:42:51.1546+00	t	\\x8bb02dbca02ed31498515b37343cfbd50d43568c9721aa3140164d4f9b3435059cc7c6e01ab22e860578fdf18e187e0a	1257987
22	payments asked at	2026-12-01 15:42:51.156081+00	t	\\xe0a37c479a4081e777e2b4329c56f7078986fd566c03a50131b15c9cdc0c1973855d0e7e2ec5d003dbf3fd21d00a5c05	544036
23	fewer tables	2026-12-01 15:42:51.156855+00	t	\\x7cbd4aa88d9bc0f1a37ecf8ea49ce9dd320ee695e5ef5886d5672af1447fe6c890336e9746c42205b1e9c52819498002	10781917
24	wallets	2026-12-01 15:42:51.168113+00	t	\\x7b07f12de6e45b9dbc14bb2bad20dd52383ea36fa3f1440f865baaf635089981ca5870a18322294f21fcd7086fc56f32	1160097
25	reasons	2026-12-01 15:42:51.169516+00	t	\\xa3c9754ac538b07950ccf37ce2804b892c31cc84d18f9320c04f4ac3557b18a93d628da6413d209cdbfe5a2b9fb4b677	814757
26	token accounts	2026-12-01 15:42:51.170619+00	t	\\xb2a43f6b9a9fbcc3cb7c5245604a711c8e48d0c6ffdf35f1f6a9cf516217060a59ced508db77df67fdc86540ab8879c9	4897883
27	action transactions	2026-12-01 15:42:51.175855+00	t	\\x4a668cfe261818a5cd714e77e7260b3b8dde1c43637e0deaba39cd109b79956ba5a7af960128d0a16edf959c353e9046	6962539
28	watched balances	2026-12-01 15:42:51.183134+00	t	\\x9ac39bdf3871d42a5b8950889d0a868cc9cb381842826ab8a893cb40b6a38ece036e6cfbabcb0db801972a53653e045a	3667390
\.


--
-- Data for Name: accounts; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.accounts (account_id, operator_id, name, metadata, address, token_account, status, duplicates, provisioning, created_at, allowlist_entries, is_closed, approvals, tags, create_token_accounts, watched_usdc, watched_at) FROM stdin;
acct_04BJRQZP19CKR6JDNQ3AT84VWX	op_01M8S4BSHBNTDZFDSMQC65WM9R	Dana	\N	zSdmxXLMtntSzu9LjTA9SKtSHU59R1gdtKKirWMFXt9	71GbWKcJecCWuU9aTaVGRqVF9uUUMShfkkHUuqukwjPt	active	as_asked	ready	2026-12-01T15:42:51.708991Z	0	f	on		f	19.900000	2026-12-01T15:43:17.314988Z
acct_6GJP4GQ9MJJ98HYJSGVQWJKSCS	op_01M8S4BSHBNTDZFDSMQC65WM9R	Eve	\N	C9MAxfemNSS9VfM5eMRKCiK2MJThgW3ohD8tmA4UuCJr	Euy3ERtLTfNb973o8g8vqSHaQjuXLJUBMiVEx7NFrxZi	paused	as_asked	ready	2026-12-01T15:43:01.441654Z	0	f	on		f	1.000000	2026-12-01T15:43:01.592122Z
acct_2NQC4K44MS6D7MMCE6QDHTB4Q4	op_01M8S4BSHBNTDZFDSMQC65WM9R	Cleo	\N	635acB3anULjWgEYSNZ95SSKnaaQwp3en2b9uQ5tSmJg	9s3VomuB2vUeaXUE3uA9gE8jhAd94uQStbZCceRztNQC	active	as_asked	ready	2026-12-01T15:42:52.194036Z	0	f	on		f	\N	\N
acct_2S38FJGRM9Q24G58AG60PA25CP	op_01M8S4BSHBNTDZFDSMQC65WM9R	Ada	\N	CMUQJUWGDH2GXDr8JJAVxZbvD2p7Eycy1Druf31gNQgi	Dg6vFhJFQ7z8njnws9bEghBJUwzbYxruAprUB6vdTZnD	active	as_asked	ready	2026-12-01T15:42:51.547175Z	1	f	on		f	46.500000	2026-12-01T15:42:52.348366Z
acct_6HA78383951JKGQ3SKR8SYZC6N	op_01M8S4BSHBNTDZFDSMQC65WM9R	Ben	\N	87QbhsrqaqanHhYaEUWgUxcmUmWgezFdaohCYFCwjr5z	2x58moMWZAiwJ6BnqrPWovfsNoDbC9vW47eiLbYkpcth	active	as_asked	ready	2026-12-01T15:42:51.631031Z	0	f	on		f	3.500000	2026-12-01T15:42:52.353320Z
\.


--
-- Data for Name: action_transactions; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.action_transactions (tx_signature, operator_id, action_id, last_valid_block_height, is_step, stop, account_id, sent_at) FROM stdin;
3BLYwBx8kPHiVr4YiPPAsgwUTi5tv4j1r1AcPbcNB3JPvDA4JuC4tvQZbx6QE3u9TVCe1cTBvNus1HDCB3ZFGfgh	op_01M8S4BSHBNTDZFDSMQC65WM9R	act_01M8S4CJKNST078RSPAS3D4A1X	781	f	pause	acct_6GJP4GQ9MJJ98HYJSGVQWJKSCS	2026-12-01T15:43:17.173956Z
\.


--
-- Data for Name: actions; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.actions (action_id, operator_id, name, outcome, key_id, session_id, address, object_id, made_id, before_json, after_json, tx_signature, request_id, created_at, is_unchanged) FROM stdin;
act_01M8S4BSJ9TET2FJD5Y5RXAFW2	op_01M8S4BSHBNTDZFDSMQC65WM9R	create_operator_key	done	\N	\N	\N	\N	key_01M8S4BSJ9Q54T71H4T9REPZQF	\N	\N	\N	\N	2026-12-01T15:42:51.465846Z	f
act_01M8S4BSKSVE3WFT5BV4668WHX	op_01M8S4BSHBNTDZFDSMQC65WM9R	create_operator_key	done	\N	\N	\N	\N	key_01M8S4BSKSR2CSQHQ06APHJHN8	\N	\N	\N	\N	2026-12-01T15:42:51.513878Z	f
act_01M8S4BSMHKXY5TY31N2ZNEJNH	op_01M8S4BSHBNTDZFDSMQC65WM9R	create_account	done	key_01M8S4BSJ9Q54T71H4T9REPZQF	\N	127.0.0.1	\N	acct_2S38FJGRM9Q24G58AG60PA25CP	\N	{"name":"Ada"}	2Kv3MUgNrjH4UULhBDq3tmqhUPLRdi7MdNhDXBwFpmWCUgGY1kzeiVdLp8Yb9EJN1WoH6ZkkDFT8x5KCruY2oYW1	req_01M8S4BSMEZ74H2WAA0EXZ79WJ	2026-12-01T15:42:51.537637Z	f
act_01M8S4BSQ99868TK5C079NF7A2	op_01M8S4BSHBNTDZFDSMQC65WM9R	create_account	done	key_01M8S4BSJ9Q54T71H4T9REPZQF	\N	127.0.0.1	\N	acct_6HA78383951JKGQ3SKR8SYZC6N	\N	{"name":"Ben"}	5FSxXoMLcerCtfZXj1mBhpPxfiPr9T2Ax7CdAs5hRj9TqQEjyVqhTR9NkzRTQcQd24hNkBoRvwSJHujiiKHJULPX	req_01M8S4BSQ7QFVQKPBQNRTAG088	2026-12-01T15:42:51.625296Z	f
act_01M8S4BSSQQEZJ1NSJTS07MNCA	op_01M8S4BSHBNTDZFDSMQC65WM9R	create_account	done	key_01M8S4BSJ9Q54T71H4T9REPZQF	\N	127.0.0.1	\N	acct_04BJRQZP19CKR6JDNQ3AT84VWX	\N	{"name":"Dana"}	58wqTiJbMkZX76XuDXSxA3v2r9PW2UqmW1fo8zLDudhyXeGhBRD4bXF4E5MFwHVFckBHKjCfgurU6vBcS1JBsEtP	req_01M8S4BSSNQ95FPZB2B9PSRZC9	2026-12-01T15:42:51.703750Z	f
act_01M8S4BSYD1KCBFYB17DS1X3GZ	op_01M8S4BSHBNTDZFDSMQC65WM9R	create_key	done	key_01M8S4BSJ9Q54T71H4T9REPZQF	\N	127.0.0.1	acct_2S38FJGRM9Q24G58AG60PA25CP	key_01M8S4BSYG79K5W64KRYQNFKV7	\N	\N	\N	req_01M8S4BSYBW9WD8YTCTA67AJYD	2026-12-01T15:42:51.853051Z	f
act_01M8S4BSYT0308F1JNAGH98PKQ	op_01M8S4BSHBNTDZFDSMQC65WM9R	replace_policy	done	key_01M8S4BSJ9Q54T71H4T9REPZQF	\N	127.0.0.1	acct_2S38FJGRM9Q24G58AG60PA25CP	\N	\N	{"max_daily_spend":40,"max_single_transfer":10}	4NXDsSnBAJrDAfvMydQSKeGk9FZsTsvv94v3sTJtveEMU9YoA5vdVU3jUeq1fm3CnXp3ob9S5uh5jDupbsNMXLbV	req_01M8S4BSYSQYX7ZQR8YD318Z6F	2026-12-01T15:42:51.866003Z	f
act_01M8S4BT1BH19NV24AWN8BV1EN	op_01M8S4BSHBNTDZFDSMQC65WM9R	replace_policy	done	key_01M8S4BSJ9Q54T71H4T9REPZQF	\N	127.0.0.1	acct_2S38FJGRM9Q24G58AG60PA25CP	\N	\N	{"allowed_counterparties":["acct_6HA78383951JKGQ3SKR8SYZC6N"],"max_single_transfer":10,"require_memo":true}	2j3dgaBjRsThAK1TvuFNU7BePFx1YCeEyRWtzsuLuJm3PX8YNbGriik3TPtXsjW8tTNkuKLni88v53hXzYix8Hnf	req_01M8S4BT1AJXZM283Q5M3XDGAW	2026-12-01T15:42:51.947545Z	f
act_01M8S4BT3ZCG6XJEEZ80842RDV	op_01M8S4BSHBNTDZFDSMQC65WM9R	create_webhook	done	key_01M8S4BSJ9Q54T71H4T9REPZQF	\N	127.0.0.1	\N	whk_01M8S4BT411RSZJ2YWFR4E5KJY	\N	{"events":["transfer.settled","policy.changed"],"url":"http://127.0.0.1:9/purser"}	\N	req_01M8S4BT3YDT61DP83556PRRHA	2026-12-01T15:42:52.031400Z	f
act_01M8S4BT484N8ASVWXAV7CK2QP	op_01M8S4BSHBNTDZFDSMQC65WM9R	create_webhook	done	key_01M8S4BSJ9Q54T71H4T9REPZQF	\N	127.0.0.1	\N	whk_01M8S4BT49YNVGAYVV382SMD3M	\N	{"events":["balance.low_threshold","limit.threshold"],"low_balance_threshold_usdc":6,"url":"http://127.0.0.1:9/low"}	\N	req_01M8S4BT47NA591EME4XT5KZSP	2026-12-01T15:42:52.040149Z	f
act_01M8S4BT8Y99J1MMRY6ZH15J7M	op_01M8S4BSHBNTDZFDSMQC65WM9R	create_account	done	key_01M8S4BSJ9Q54T71H4T9REPZQF	\N	127.0.0.1	\N	acct_2NQC4K44MS6D7MMCE6QDHTB4Q4	\N	{"name":"Cleo"}	4WCSnv1Mnq8a9aNBUfS4q9sGDNA51GvydR2XME4XrMutWbtSnhKGCWcRYMMLJ5hESS6CRSSo7Nrj9yH4FeFqbxE5	req_01M8S4BT8VZTMND4B2C7GD0HRQ	2026-12-01T15:42:52.190297Z	f
act_01M8S4BVNJSBP2JTCX3HHNEPRQ	op_01M8S4BSHBNTDZFDSMQC65WM9R	update_policy	done	key_01M8S4BSJ9Q54T71H4T9REPZQF	\N	127.0.0.1	acct_2S38FJGRM9Q24G58AG60PA25CP	\N	\N	{"max_single_transfer":50}	\N	req_01M8S4BVNHMAZ7FMJQR807Q6NG	2026-12-01T15:42:53.618811Z	f
act_01M8S4BVT6TE0Y8ZT5E1P9XX6S	op_01M8S4BSHBNTDZFDSMQC65WM9R	sign_in	done	key_01M8S4BSJ9Q54T71H4T9REPZQF	ses_77a43ea0c25af5d7	127.0.0.1	\N	ses_77a43ea0c25af5d7	\N	\N	\N	req_01M8S4BVT5HY0B7VS78HQKC01N	2026-12-01T15:42:53.766846Z	f
act_01M8S4C39WXX80ETRY73H9K7DP	op_01M8S4BSHBNTDZFDSMQC65WM9R	create_account	done	key_01M8S4BSJ9Q54T71H4T9REPZQF	\N	127.0.0.1	\N	acct_6GJP4GQ9MJJ98HYJSGVQWJKSCS	\N	{"name":"Eve"}	5XzC6snxUdhFPEgatpD1JzGGMJKSMRAcHZRY59REfhr7E1qW2cw1E4vvZYv8PjD3hW82HcDTSh56EsBgykHnhdhU	req_01M8S4C39WXWYWBGP5FT0SS0FV	2026-12-01T15:43:01.436957Z	f
act_01M8S4CJKB8MTTVGWPX1GHPMQZ	op_01M8S4BSHBNTDZFDSMQC65WM9R	create_webhook	done	key_01M8S4BSJ9Q54T71H4T9REPZQF	\N	127.0.0.1	\N	whk_01M8S4CJKD92PYJMS508MGKQFS	\N	{"events":["account.halted"],"url":"http://127.0.0.1:9/old"}	\N	req_01M8S4CJK9QW06DCS7R5A7Y9RP	2026-12-01T15:43:17.099276Z	f
act_01M8S4CJKNST078RSPAS3D4A1X	op_01M8S4BSHBNTDZFDSMQC65WM9R	replace_policy	done	key_01M8S4BSJ9Q54T71H4T9REPZQF	\N	127.0.0.1	acct_6GJP4GQ9MJJ98HYJSGVQWJKSCS	\N	\N	{"paused":true}	3BLYwBx8kPHiVr4YiPPAsgwUTi5tv4j1r1AcPbcNB3JPvDA4JuC4tvQZbx6QE3u9TVCe1cTBvNus1HDCB3ZFGfgh	req_01M8S4CJKMAN9MJXC04444QVNY	2026-12-01T15:43:17.109826Z	f
act_01M8S4CJVVB4S1X04YPEK6XMFZ	op_01M8S4BSHBNTDZFDSMQC65WM9R	delete_webhook	done	key_01M8S4BSJ9Q54T71H4T9REPZQF	\N	127.0.0.1	whk_01M8S4CJKD92PYJMS508MGKQFS	\N	\N	\N	\N	req_01M8S4CJVS8CYARJ98J1RSJCWB	2026-12-01T15:43:17.371356Z	f
\.


--
-- Data for Name: api_keys; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.api_keys (key_id, key_hash, operator_id, account_id, name, hint, created_at, expires_at, revoked_at, last_used_at, allowed_cidrs, scopes, made_by) FROM stdin;
key_01M8S4BSJ9Q54T71H4T9REPZQF	9d41b15b2fb1c2a77f8d7ddfed57be70eee7805381b3fb1bcc172ce6ae6d86f1	op_01M8S4BSHBNTDZFDSMQC65WM9R	\N	\N	psr_op_test_...kHTq	2026-12-01T15:42:51.465747Z	\N	\N	\N	\N	admin	\N
key_01M8S4BSKSR2CSQHQ06APHJHN8	c2a0fed71281de78b9bc2d91626d4dac00be191ea8adc565c2fcd48a3b619eb8	op_01M8S4BSHBNTDZFDSMQC65WM9R	\N	\N	psr_op_test_...7QUM	2026-12-01T15:42:51.513776Z	\N	\N	\N	\N	admin	\N
key_01M8S4BSYG79K5W64KRYQNFKV7	660d3097031d2c178791d5f494c207c8b04c752f684f995dac7d86108986acf7	op_01M8S4BSHBNTDZFDSMQC65WM9R	acct_2S38FJGRM9Q24G58AG60PA25CP	\N	psr_ag_test_...mxLH	2026-12-01T15:42:51.856230Z	\N	\N	\N	\N	read pay	key_01M8S4BSJ9Q54T71H4T9REPZQF
\.


--
-- Data for Name: co_signatures; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.co_signatures (operator_id, transfer_id, number, approver, grant_address, signed_bytes, tx_signature, last_valid_block_height, created_at, look_at, is_unspent) FROM stdin;
\.


--
-- Data for Name: deleted_webhooks; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deleted_webhooks (operator_id, webhook_id) FROM stdin;
op_01M8S4BSHBNTDZFDSMQC65WM9R	whk_01M8S4CJKD92PYJMS508MGKQFS
\.


--
-- Data for Name: deliveries; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deliveries (operator_id, webhook_id, event_id, state, failures, next_attempt_at, ended_at, attempts, lease_holder, lease_expires_at, created_at) FROM stdin;
op_01M8S4BSHBNTDZFDSMQC65WM9R	whk_01M8S4BT411RSZJ2YWFR4E5KJY	evt_01M8S4BT4GTP2FE1HJA3ECM4EV	pending	1	2026-12-01T15:43:22.072031Z	\N	1	\N	\N	2026-12-01T15:42:52.060371Z
op_01M8S4BSHBNTDZFDSMQC65WM9R	whk_01M8S4BT411RSZJ2YWFR4E5KJY	evt_01M8S4BT4VEVF9A46FPXFBBKTF	pending	1	2026-12-01T15:43:22.078319Z	\N	1	\N	\N	2026-12-01T15:42:52.065591Z
op_01M8S4BSHBNTDZFDSMQC65WM9R	whk_01M8S4BT411RSZJ2YWFR4E5KJY	evt_01M8S4BT7ENNJ3HFNBCV9A12MC	pending	1	2026-12-01T15:43:22.159504Z	\N	1	\N	\N	2026-12-01T15:42:52.149407Z
op_01M8S4BSHBNTDZFDSMQC65WM9R	whk_01M8S4BT411RSZJ2YWFR4E5KJY	evt_01M8S4CJV16S8QGXGD00QNWFNY	pending	0	2026-12-01T15:43:17.367234Z	\N	0	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:47.460488Z	2026-12-01T15:43:17.367234Z
\.


--
-- Data for Name: delivery_attempts; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.delivery_attempts (operator_id, webhook_id, event_id, attempt, started_at, ended_at, status_code, body, unanswered) FROM stdin;
op_01M8S4BSHBNTDZFDSMQC65WM9R	whk_01M8S4BT411RSZJ2YWFR4E5KJY	evt_01M8S4BT4GTP2FE1HJA3ECM4EV	1	2026-12-01T15:42:52.071683Z	2026-12-01T15:42:52.072031Z	\N	\N	connection_failed
op_01M8S4BSHBNTDZFDSMQC65WM9R	whk_01M8S4BT411RSZJ2YWFR4E5KJY	evt_01M8S4BT4VEVF9A46FPXFBBKTF	1	2026-12-01T15:42:52.077949Z	2026-12-01T15:42:52.078319Z	\N	\N	connection_failed
op_01M8S4BSHBNTDZFDSMQC65WM9R	whk_01M8S4BT411RSZJ2YWFR4E5KJY	evt_01M8S4BT7ENNJ3HFNBCV9A12MC	1	2026-12-01T15:42:52.159164Z	2026-12-01T15:42:52.159504Z	\N	\N	connection_failed
\.


--
-- Data for Name: denials; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.denials (operator_id, number, transfer_id, document, signature) FROM stdin;
op_01M8S4BSHBNTDZFDSMQC65WM9R	1	txn_01M8S4BT7V2P208G0S3Q4DA3PX	{"account":"CMUQJUWGDH2GXDr8JJAVxZbvD2p7Eycy1Druf31gNQgi","account_id":"acct_2S38FJGRM9Q24G58AG60PA25CP","amount_micro_usdc":"11000000","checks":[{"limit_micro_usdc":null,"ok":true,"rule":"paused","used_micro_usdc":"0"},{"limit_micro_usdc":null,"ok":true,"rule":"require_memo","used_micro_usdc":"0"},{"limit_micro_usdc":null,"ok":true,"rule":"allowed_counterparties","used_micro_usdc":"0"},{"limit_micro_usdc":"10000000","ok":false,"rule":"max_single_transfer","used_micro_usdc":"0"},{"limit_micro_usdc":null,"ok":true,"rule":"max_daily_spend","used_micro_usdc":"1500000"},{"limit_micro_usdc":"48500000","ok":true,"rule":"balance","used_micro_usdc":"0"}],"key":"37iU83wP5525HDPgRzQpGnbsYTvATWBuiwBNjg4c4CSW","message":"11.00 USDC is over the account's limit of 10.00 USDC per payment.","network":"test","number":1,"operator":"E3Aze5ySQqxeDd2oKT44zKmuNqkhnZAWoZtsfbjsKuf2","operator_id":"op_01M8S4BSHBNTDZFDSMQC65WM9R","policy_version":3,"previous_sha256":"0000000000000000000000000000000000000000000000000000000000000000","previous_transfer_id":null,"reason":"single_limit_exceeded","rejected_at":"2026-12-01T15:42:52.162376Z","requested_at":"2026-12-01T15:42:52.155746Z","to":"acct_6HA78383951JKGQ3SKR8SYZC6N","transfer_id":"txn_01M8S4BT7V2P208G0S3Q4DA3PX","version":1}	55wyi6KjjhkujyBtxurfZA14zNoFfKijyY1RqgunXkTSjCgp5uahmBWx5P4Ab8EhpTzz9N1VE6qKsqymAAtkmVT3
op_01M8S4BSHBNTDZFDSMQC65WM9R	2	txn_01M8S4BT8BRTK9ZSWAKS7502YM	{"account":"CMUQJUWGDH2GXDr8JJAVxZbvD2p7Eycy1Druf31gNQgi","account_id":"acct_2S38FJGRM9Q24G58AG60PA25CP","amount_micro_usdc":"2000000","checks":[{"limit_micro_usdc":null,"ok":true,"rule":"paused","used_micro_usdc":"0"},{"limit_micro_usdc":null,"ok":true,"rule":"require_memo","used_micro_usdc":"0"},{"limit_micro_usdc":null,"ok":false,"rule":"allowed_counterparties","used_micro_usdc":"0"},{"limit_micro_usdc":"10000000","ok":true,"rule":"max_single_transfer","used_micro_usdc":"0"},{"limit_micro_usdc":null,"ok":true,"rule":"max_daily_spend","used_micro_usdc":"1500000"},{"limit_micro_usdc":"48500000","ok":true,"rule":"balance","used_micro_usdc":"0"}],"key":"37iU83wP5525HDPgRzQpGnbsYTvATWBuiwBNjg4c4CSW","message":"The payee is not on the account's list of allowed payees.","network":"test","number":2,"operator":"E3Aze5ySQqxeDd2oKT44zKmuNqkhnZAWoZtsfbjsKuf2","operator_id":"op_01M8S4BSHBNTDZFDSMQC65WM9R","policy_version":3,"previous_sha256":"316310ec094668a8ede1f15b131668859054e553b5b179989917c69de5ac09be","previous_transfer_id":"txn_01M8S4BT7V2P208G0S3Q4DA3PX","reason":"recipient_not_allowed","rejected_at":"2026-12-01T15:42:52.173658Z","requested_at":"2026-12-01T15:42:52.171129Z","to":"BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5","transfer_id":"txn_01M8S4BT8BRTK9ZSWAKS7502YM","version":1}	5gFtw6nfaSVYqLrMYVqr2YJ8auo9cYN1Vv6WT1xUrPdVLi2p6YWL7euZ4co9Lfwwng3gfDCWBG4D5bk294zdNKes
\.


--
-- Data for Name: events; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.events (operator_id, event_id, event_type, account_id, transfer_id, threshold_usdc, webhook_id, data, created_at, fact, place) FROM stdin;
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BSJDS3FGY2ZRE9EBMBY3	action.recorded	\N	\N	\N	\N	{"id":"act_01M8S4BSJ9TET2FJD5Y5RXAFW2","action":"create_operator_key","outcome":"done","key_id":null,"key_name":null,"key_hint":null,"session_id":null,"address":null,"object_id":null,"made_id":"key_01M8S4BSJ9Q54T71H4T9REPZQF","after":null,"tx_signature":null,"request_id":null,"created_at":"2026-12-01T15:42:51.465846Z","passkey_name":null}	2026-12-01T15:42:51.469803Z	action.recorded|act_01M8S4BSJ9TET2FJD5Y5RXAFW2	1
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BSKZA5FC5FAX203AHNX0	action.recorded	\N	\N	\N	\N	{"id":"act_01M8S4BSKSVE3WFT5BV4668WHX","action":"create_operator_key","outcome":"done","key_id":null,"key_name":null,"key_hint":null,"session_id":null,"address":null,"object_id":null,"made_id":"key_01M8S4BSKSR2CSQHQ06APHJHN8","after":null,"tx_signature":null,"request_id":null,"created_at":"2026-12-01T15:42:51.513878Z","passkey_name":null}	2026-12-01T15:42:51.519325Z	action.recorded|act_01M8S4BSKSVE3WFT5BV4668WHX	2
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BSQ0T4XVE5EAR15RVS9P	action.recorded	\N	\N	\N	\N	{"id":"act_01M8S4BSMHKXY5TY31N2ZNEJNH","action":"create_account","outcome":"done","key_id":"key_01M8S4BSJ9Q54T71H4T9REPZQF","key_name":null,"key_hint":"psr_op_test_...kHTq","session_id":null,"address":"127.0.0.1","object_id":null,"made_id":"acct_2S38FJGRM9Q24G58AG60PA25CP","after":{"name":"Ada"},"tx_signature":"2Kv3MUgNrjH4UULhBDq3tmqhUPLRdi7MdNhDXBwFpmWCUgGY1kzeiVdLp8Yb9EJN1WoH6ZkkDFT8x5KCruY2oYW1","request_id":"req_01M8S4BSMEZ74H2WAA0EXZ79WJ","created_at":"2026-12-01T15:42:51.537637Z","passkey_name":null}	2026-12-01T15:42:51.616836Z	action.recorded|act_01M8S4BSMHKXY5TY31N2ZNEJNH	3
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BSSF430K5A737X9JWHG5	action.recorded	\N	\N	\N	\N	{"id":"act_01M8S4BSQ99868TK5C079NF7A2","action":"create_account","outcome":"done","key_id":"key_01M8S4BSJ9Q54T71H4T9REPZQF","key_name":null,"key_hint":"psr_op_test_...kHTq","session_id":null,"address":"127.0.0.1","object_id":null,"made_id":"acct_6HA78383951JKGQ3SKR8SYZC6N","after":{"name":"Ben"},"tx_signature":"5FSxXoMLcerCtfZXj1mBhpPxfiPr9T2Ax7CdAs5hRj9TqQEjyVqhTR9NkzRTQcQd24hNkBoRvwSJHujiiKHJULPX","request_id":"req_01M8S4BSQ7QFVQKPBQNRTAG088","created_at":"2026-12-01T15:42:51.625296Z","passkey_name":null}	2026-12-01T15:42:51.695131Z	action.recorded|act_01M8S4BSQ99868TK5C079NF7A2	4
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BSVVJJ68R87S2CC8WAYK	action.recorded	\N	\N	\N	\N	{"id":"act_01M8S4BSSQQEZJ1NSJTS07MNCA","action":"create_account","outcome":"done","key_id":"key_01M8S4BSJ9Q54T71H4T9REPZQF","key_name":null,"key_hint":"psr_op_test_...kHTq","session_id":null,"address":"127.0.0.1","object_id":null,"made_id":"acct_04BJRQZP19CKR6JDNQ3AT84VWX","after":{"name":"Dana"},"tx_signature":"58wqTiJbMkZX76XuDXSxA3v2r9PW2UqmW1fo8zLDudhyXeGhBRD4bXF4E5MFwHVFckBHKjCfgurU6vBcS1JBsEtP","request_id":"req_01M8S4BSSNQ95FPZB2B9PSRZC9","created_at":"2026-12-01T15:42:51.703750Z","passkey_name":null}	2026-12-01T15:42:51.771594Z	action.recorded|act_01M8S4BSSQQEZJ1NSJTS07MNCA	5
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BSXFNBKDJAAA5JY53GNR	deposit.settled	acct_2S38FJGRM9Q24G58AG60PA25CP	\N	\N	\N	{"account_id":"acct_2S38FJGRM9Q24G58AG60PA25CP","entry_id":"ent_3EP8FAPVHVYJA7B839VZGBZQME","amount_usdc":"50.000000","from":null,"memo":null,"transfer_id":null,"tx_signature":"2PGSymeFa6GsXo9PEjkj48CYLiezE3U8Kbo44buc4FmqYtxaJvr9GG9F8ZXwu7gAywkr8eastq9a3fAWMjMikLzn","settled_at":"2026-12-01T15:42:51.000000Z"}	2026-12-01T15:42:51.823683Z	deposit.settled|ent_3EP8FAPVHVYJA7B839VZGBZQME	6
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BT4G74QDMP1K5M6V75AR	action.recorded	\N	\N	\N	\N	{"id":"act_01M8S4BT484N8ASVWXAV7CK2QP","action":"create_webhook","outcome":"done","key_id":"key_01M8S4BSJ9Q54T71H4T9REPZQF","key_name":null,"key_hint":"psr_op_test_...kHTq","session_id":null,"address":"127.0.0.1","object_id":null,"made_id":"whk_01M8S4BT49YNVGAYVV382SMD3M","after":{"events":["balance.low_threshold","limit.threshold"],"low_balance_threshold_usdc":6,"url":"http://127.0.0.1:9/low"},"tx_signature":null,"request_id":"req_01M8S4BT47NA591EME4XT5KZSP","created_at":"2026-12-01T15:42:52.040149Z","passkey_name":null}	2026-12-01T15:42:52.048228Z	action.recorded|act_01M8S4BT484N8ASVWXAV7CK2QP	11
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BT4GTP2FE1HJA3ECM4EV	policy.changed	acct_2S38FJGRM9Q24G58AG60PA25CP	\N	\N	\N	{"account_id":"acct_2S38FJGRM9Q24G58AG60PA25CP","before":{"version":1,"policy":{"max_single_transfer":null,"max_daily_spend":null,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}},"after":{"version":2,"policy":{"max_single_transfer":10,"max_daily_spend":40,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}},"signer":"62Srwh4xsMNjD5tuy6jLQgQDqhuxx2JZEGe8eaJoyfuh","tx_signature":"4NXDsSnBAJrDAfvMydQSKeGk9FZsTsvv94v3sTJtveEMU9YoA5vdVU3jUeq1fm3CnXp3ob9S5uh5jDupbsNMXLbV","changed_at":"2026-12-01T15:42:51.000000Z"}	2026-12-01T15:42:52.048854Z	policy.changed|4NXDsSnBAJrDAfvMydQSKeGk9FZsTsvv94v3sTJtveEMU9YoA5vdVU3jUeq1fm3CnXp3ob9S5uh5jDupbsNMXLbV|acct_2S38FJGRM9Q24G58AG60PA25CP|2	12
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BT4VEVF9A46FPXFBBKTF	policy.changed	acct_2S38FJGRM9Q24G58AG60PA25CP	\N	\N	\N	{"account_id":"acct_2S38FJGRM9Q24G58AG60PA25CP","before":{"version":2,"policy":{"max_single_transfer":10,"max_daily_spend":40,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}},"after":{"version":3,"policy":{"max_single_transfer":10,"max_daily_spend":null,"allowed_counterparties":["87QbhsrqaqanHhYaEUWgUxcmUmWgezFdaohCYFCwjr5z"],"counterparty_kinds":["wallet"],"require_memo":true,"paused":false}},"signer":"62Srwh4xsMNjD5tuy6jLQgQDqhuxx2JZEGe8eaJoyfuh","tx_signature":"2j3dgaBjRsThAK1TvuFNU7BePFx1YCeEyRWtzsuLuJm3PX8YNbGriik3TPtXsjW8tTNkuKLni88v53hXzYix8Hnf","changed_at":"2026-12-01T15:42:51.000000Z"}	2026-12-01T15:42:52.059475Z	policy.changed|2j3dgaBjRsThAK1TvuFNU7BePFx1YCeEyRWtzsuLuJm3PX8YNbGriik3TPtXsjW8tTNkuKLni88v53hXzYix8Hnf|acct_2S38FJGRM9Q24G58AG60PA25CP|3	13
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BT6G7WSK7WZMYQHHMXT1	transfer.initiated	acct_2S38FJGRM9Q24G58AG60PA25CP	txn_01M8S4BT4V8109D6E51Y3R9QHM	\N	\N	{"transfer_id":"txn_01M8S4BT4V8109D6E51Y3R9QHM","account_id":"acct_2S38FJGRM9Q24G58AG60PA25CP","to":"acct_6HA78383951JKGQ3SKR8SYZC6N","to_wallet":null,"amount_usdc":"1.500000","memo":"settled","idempotency_key":"01M8S4BT4NSX5MPKTTQNW8PB2B","tx_signature":"3KRdnVPcC9vDv7ZsA1j9LhVuW1UhpuqytLZYGLteZhp9g2UJwMN5w7cJD93MjoGn962Xns9R5wNNbGTKtVEBnfZj"}	2026-12-01T15:42:52.112252Z	\N	15
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BVSR2M1GWN96VKRPX615	policy.pending	acct_2S38FJGRM9Q24G58AG60PA25CP	\N	\N	\N	{"account_id":"acct_2S38FJGRM9Q24G58AG60PA25CP","policy":{"max_single_transfer":50,"max_daily_spend":null,"allowed_counterparties":["87QbhsrqaqanHhYaEUWgUxcmUmWgezFdaohCYFCwjr5z"],"counterparty_kinds":["wallet"],"require_memo":true,"paused":false},"effective_at":"2026-12-02T15:42:53.000000Z","signer":"62Srwh4xsMNjD5tuy6jLQgQDqhuxx2JZEGe8eaJoyfuh"}	2026-12-01T15:42:53.752084Z	\N	23
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BSYKA5Y41WZF6ZTH47FB	action.recorded	\N	\N	\N	\N	{"id":"act_01M8S4BSYD1KCBFYB17DS1X3GZ","action":"create_key","outcome":"done","key_id":"key_01M8S4BSJ9Q54T71H4T9REPZQF","key_name":null,"key_hint":"psr_op_test_...kHTq","session_id":null,"address":"127.0.0.1","object_id":"acct_2S38FJGRM9Q24G58AG60PA25CP","made_id":"key_01M8S4BSYG79K5W64KRYQNFKV7","after":null,"tx_signature":null,"request_id":"req_01M8S4BSYBW9WD8YTCTA67AJYD","created_at":"2026-12-01T15:42:51.853051Z","passkey_name":null}	2026-12-01T15:42:51.859325Z	action.recorded|act_01M8S4BSYD1KCBFYB17DS1X3GZ	7
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BT13E1W1FYJDFRF6YMEY	action.recorded	\N	\N	\N	\N	{"id":"act_01M8S4BSYT0308F1JNAGH98PKQ","action":"replace_policy","outcome":"done","key_id":"key_01M8S4BSJ9Q54T71H4T9REPZQF","key_name":null,"key_hint":"psr_op_test_...kHTq","session_id":null,"address":"127.0.0.1","object_id":"acct_2S38FJGRM9Q24G58AG60PA25CP","made_id":null,"after":{"max_daily_spend":40,"max_single_transfer":10},"tx_signature":"4NXDsSnBAJrDAfvMydQSKeGk9FZsTsvv94v3sTJtveEMU9YoA5vdVU3jUeq1fm3CnXp3ob9S5uh5jDupbsNMXLbV","request_id":"req_01M8S4BSYSQYX7ZQR8YD318Z6F","created_at":"2026-12-01T15:42:51.866003Z","passkey_name":null}	2026-12-01T15:42:51.939449Z	action.recorded|act_01M8S4BSYT0308F1JNAGH98PKQ	8
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BT3SS4PMC2TXENGQWFN0	action.recorded	\N	\N	\N	\N	{"id":"act_01M8S4BT1BH19NV24AWN8BV1EN","action":"replace_policy","outcome":"done","key_id":"key_01M8S4BSJ9Q54T71H4T9REPZQF","key_name":null,"key_hint":"psr_op_test_...kHTq","session_id":null,"address":"127.0.0.1","object_id":"acct_2S38FJGRM9Q24G58AG60PA25CP","made_id":null,"after":{"allowed_counterparties":["acct_6HA78383951JKGQ3SKR8SYZC6N"],"max_single_transfer":10,"require_memo":true},"tx_signature":"2j3dgaBjRsThAK1TvuFNU7BePFx1YCeEyRWtzsuLuJm3PX8YNbGriik3TPtXsjW8tTNkuKLni88v53hXzYix8Hnf","request_id":"req_01M8S4BT1AJXZM283Q5M3XDGAW","created_at":"2026-12-01T15:42:51.947545Z","passkey_name":null}	2026-12-01T15:42:52.025804Z	action.recorded|act_01M8S4BT1BH19NV24AWN8BV1EN	9
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BT43T1NJG9QXJXGAFY5K	action.recorded	\N	\N	\N	\N	{"id":"act_01M8S4BT3ZCG6XJEEZ80842RDV","action":"create_webhook","outcome":"done","key_id":"key_01M8S4BSJ9Q54T71H4T9REPZQF","key_name":null,"key_hint":"psr_op_test_...kHTq","session_id":null,"address":"127.0.0.1","object_id":null,"made_id":"whk_01M8S4BT411RSZJ2YWFR4E5KJY","after":{"events":["transfer.settled","policy.changed"],"url":"http://127.0.0.1:9/purser"},"tx_signature":null,"request_id":"req_01M8S4BT3YDT61DP83556PRRHA","created_at":"2026-12-01T15:42:52.031400Z","passkey_name":null}	2026-12-01T15:42:52.035833Z	action.recorded|act_01M8S4BT3ZCG6XJEEZ80842RDV	10
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BT60XGQB89XZB8ZJVTG9	deposit.settled	acct_04BJRQZP19CKR6JDNQ3AT84VWX	\N	\N	\N	{"account_id":"acct_04BJRQZP19CKR6JDNQ3AT84VWX","entry_id":"ent_79R0MRM331HCG2WV3FHVJZRSVJ","amount_usdc":"20.000000","from":null,"memo":null,"transfer_id":null,"tx_signature":"3K5B7PMPLJ23zzQFmUXovnFBG9samzNfe8chkLDVVL6cph7XUd1u3ELabWxT8QT16zkbsrr1nhQy95DycNhzGQYT","settled_at":"2026-12-01T15:42:51.000000Z"}	2026-12-01T15:42:52.096944Z	deposit.settled|ent_79R0MRM331HCG2WV3FHVJZRSVJ	14
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BT7ENNJ3HFNBCV9A12MC	transfer.settled	acct_2S38FJGRM9Q24G58AG60PA25CP	txn_01M8S4BT4V8109D6E51Y3R9QHM	\N	\N	{"transfer_id":"txn_01M8S4BT4V8109D6E51Y3R9QHM","account_id":"acct_2S38FJGRM9Q24G58AG60PA25CP","to":"acct_6HA78383951JKGQ3SKR8SYZC6N","to_wallet":null,"amount_usdc":"1.500000","memo":"settled","idempotency_key":"01M8S4BT4NSX5MPKTTQNW8PB2B","tx_signature":"3KRdnVPcC9vDv7ZsA1j9LhVuW1UhpuqytLZYGLteZhp9g2UJwMN5w7cJD93MjoGn962Xns9R5wNNbGTKtVEBnfZj","settled_at":"2026-12-01T15:42:52.060000Z"}	2026-12-01T15:42:52.142693Z	\N	16
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BT7ENNXXCATC43WYY2BC	deposit.settled	acct_6HA78383951JKGQ3SKR8SYZC6N	\N	\N	\N	{"account_id":"acct_6HA78383951JKGQ3SKR8SYZC6N","entry_id":"ent_5ZPWS537Q3X8YGY5W0M1PRS6HG","amount_usdc":"1.500000","from":"Dg6vFhJFQ7z8njnws9bEghBJUwzbYxruAprUB6vdTZnD","memo":"settled","transfer_id":"txn_01M8S4BT4V8109D6E51Y3R9QHM","tx_signature":"3KRdnVPcC9vDv7ZsA1j9LhVuW1UhpuqytLZYGLteZhp9g2UJwMN5w7cJD93MjoGn962Xns9R5wNNbGTKtVEBnfZj","settled_at":"2026-12-01T15:42:52.060000Z"}	2026-12-01T15:42:52.142693Z	deposit.settled|ent_5ZPWS537Q3X8YGY5W0M1PRS6HG	17
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BT82EVXRVNMF0ZZB9TE1	transfer.rejected	acct_2S38FJGRM9Q24G58AG60PA25CP	txn_01M8S4BT7V2P208G0S3Q4DA3PX	\N	\N	{"transfer_id":"txn_01M8S4BT7V2P208G0S3Q4DA3PX","account_id":"acct_2S38FJGRM9Q24G58AG60PA25CP","to":"acct_6HA78383951JKGQ3SKR8SYZC6N","to_wallet":null,"amount_usdc":"11.000000","memo":"rejected","idempotency_key":"01M8S4BT4NZKWMNNB43YY7PXTP","rejection_reason":"single_limit_exceeded","message":"11.00 USDC is over the account's limit of 10.00 USDC per payment."}	2026-12-01T15:42:52.162475Z	\N	18
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BTB28E8W7JEQJK9M6EPF	action.recorded	\N	\N	\N	\N	{"id":"act_01M8S4BT8Y99J1MMRY6ZH15J7M","action":"create_account","outcome":"done","key_id":"key_01M8S4BSJ9Q54T71H4T9REPZQF","key_name":null,"key_hint":"psr_op_test_...kHTq","session_id":null,"address":"127.0.0.1","object_id":null,"made_id":"acct_2NQC4K44MS6D7MMCE6QDHTB4Q4","after":{"name":"Cleo"},"tx_signature":"4WCSnv1Mnq8a9aNBUfS4q9sGDNA51GvydR2XME4XrMutWbtSnhKGCWcRYMMLJ5hESS6CRSSo7Nrj9yH4FeFqbxE5","request_id":"req_01M8S4BT8VZTMND4B2C7GD0HRQ","created_at":"2026-12-01T15:42:52.190297Z","passkey_name":null}	2026-12-01T15:42:52.258270Z	action.recorded|act_01M8S4BT8Y99J1MMRY6ZH15J7M	20
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BTD1EHS3DP3NYAZ3XWSG	withdrawal.settled	acct_2S38FJGRM9Q24G58AG60PA25CP	\N	\N	\N	{"account_id":"acct_2S38FJGRM9Q24G58AG60PA25CP","entry_id":"ent_36XZKKAKFYJTDCHTYGG63794SJ","amount_usdc":"2.000000","to":"2x58moMWZAiwJ6BnqrPWovfsNoDbC9vW47eiLbYkpcth","tx_signature":"5Gfb7HkKa62AzAqwVnrRDgYQpJWAJbaMUwd5NdT314RebUKyApG6D7AEWy22f4uMzbgFUcPhHwjBuaFGa7hPuc85","settled_at":"2026-12-01T15:42:52.000000Z"}	2026-12-01T15:42:52.321465Z	withdrawal.settled|ent_36XZKKAKFYJTDCHTYGG63794SJ	22
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BVT6TE2H1C39MC4P0VQV	action.recorded	\N	\N	\N	\N	{"id":"act_01M8S4BVT6TE0Y8ZT5E1P9XX6S","action":"sign_in","outcome":"done","key_id":"key_01M8S4BSJ9Q54T71H4T9REPZQF","key_name":null,"key_hint":"psr_op_test_...kHTq","session_id":"ses_77a43ea0c25af5d7","address":"127.0.0.1","object_id":null,"made_id":"ses_77a43ea0c25af5d7","after":null,"tx_signature":null,"request_id":"req_01M8S4BVT5HY0B7VS78HQKC01N","created_at":"2026-12-01T15:42:53.766846Z","passkey_name":null}	2026-12-01T15:42:53.766846Z	action.recorded|act_01M8S4BVT6TE0Y8ZT5E1P9XX6S	25
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4CJW1H5G3XQ95Y0JMSR9K	action.recorded	\N	\N	\N	\N	{"id":"act_01M8S4CJVVB4S1X04YPEK6XMFZ","action":"delete_webhook","outcome":"done","key_id":"key_01M8S4BSJ9Q54T71H4T9REPZQF","key_name":null,"key_hint":"psr_op_test_...kHTq","session_id":null,"address":"127.0.0.1","object_id":"whk_01M8S4CJKD92PYJMS508MGKQFS","made_id":null,"after":null,"tx_signature":null,"request_id":"req_01M8S4CJVS8CYARJ98J1RSJCWB","created_at":"2026-12-01T15:43:17.371356Z","passkey_name":null}	2026-12-01T15:43:17.377549Z	action.recorded|act_01M8S4CJVVB4S1X04YPEK6XMFZ	0
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BT8DPY5DT6E9X7Z1T97W	transfer.rejected	acct_2S38FJGRM9Q24G58AG60PA25CP	txn_01M8S4BT8BRTK9ZSWAKS7502YM	\N	\N	{"transfer_id":"txn_01M8S4BT8BRTK9ZSWAKS7502YM","account_id":"acct_2S38FJGRM9Q24G58AG60PA25CP","to":"BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5","to_wallet":null,"amount_usdc":"2.000000","memo":"rejected for its payee","idempotency_key":"01M8S4BT4NFN8K6K89YQNJR5C9","rejection_reason":"recipient_not_allowed","message":"The payee is not on the account's list of allowed payees."}	2026-12-01T15:42:52.173734Z	\N	19
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4CJWJHZG572JK95Z0Y4V7	transfer.initiated	acct_04BJRQZP19CKR6JDNQ3AT84VWX	txn_01M8S4CJRKZPSGTEW64YKJEVN5	\N	\N	{"transfer_id":"txn_01M8S4CJRKZPSGTEW64YKJEVN5","account_id":"acct_04BJRQZP19CKR6JDNQ3AT84VWX","to":"BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5","to_wallet":null,"amount_usdc":"0.100000","memo":null,"idempotency_key":"01M8S4CJNZE3NWXR7NZ5MM3WGR-14","tx_signature":"47VefjSCfCceNJ3gh7z7wYwwyyJvYbWrs8qEvhY8GGPz4uuL7EPVgDgDCe8gsrRbvFCFYV5P86cMeNaYQq46ggDJ"}	2026-12-01T15:43:17.394575Z	\N	0
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BTD1EHH9M8Z57VJAQDEN	deposit.settled	acct_6HA78383951JKGQ3SKR8SYZC6N	\N	\N	\N	{"account_id":"acct_6HA78383951JKGQ3SKR8SYZC6N","entry_id":"ent_2RD9619J7PKRAJ259PMQ8HW6YM","amount_usdc":"2.000000","from":"Dg6vFhJFQ7z8njnws9bEghBJUwzbYxruAprUB6vdTZnD","memo":null,"transfer_id":null,"tx_signature":"5Gfb7HkKa62AzAqwVnrRDgYQpJWAJbaMUwd5NdT314RebUKyApG6D7AEWy22f4uMzbgFUcPhHwjBuaFGa7hPuc85","settled_at":"2026-12-01T15:42:52.000000Z"}	2026-12-01T15:42:52.321465Z	deposit.settled|ent_2RD9619J7PKRAJ259PMQ8HW6YM	21
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4CJV3Q32ZGGHX2JXXB6K0	transfer.initiated	acct_04BJRQZP19CKR6JDNQ3AT84VWX	txn_01M8S4CJRJ36PC12NAGM6B1WAR	\N	\N	{"transfer_id":"txn_01M8S4CJRJ36PC12NAGM6B1WAR","account_id":"acct_04BJRQZP19CKR6JDNQ3AT84VWX","to":"BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5","to_wallet":null,"amount_usdc":"0.100000","memo":null,"idempotency_key":"01M8S4CJNZE3NWXR7NZ5MM3WGR-8","tx_signature":"3oPWLZi51e8SaCaBaDbcED5WZwN9JH72PavzNu1rrDvt3zfZStuuU8BwzCZRusrWCQsNSEv4vaVeCkRaPNszAuwC"}	2026-12-01T15:43:17.347739Z	\N	30
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4CJWXY99WX5BT7XVGFG0P	transfer.initiated	acct_04BJRQZP19CKR6JDNQ3AT84VWX	txn_01M8S4CJRHX049WAES4RMMV4Q2	\N	\N	{"transfer_id":"txn_01M8S4CJRHX049WAES4RMMV4Q2","account_id":"acct_04BJRQZP19CKR6JDNQ3AT84VWX","to":"BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5","to_wallet":null,"amount_usdc":"0.100000","memo":null,"idempotency_key":"01M8S4CJNZE3NWXR7NZ5MM3WGR-1","tx_signature":"5GXj8AakEsgovvEQySqa7zbAfcR2SENHfBrXDkpUXgk667XVZDzoAiT65KoMuB4TXViwJErP3s2CYj7TQtNUZwVE"}	2026-12-01T15:43:17.405969Z	\N	0
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4BVSXAER9EWCK2TT0DZTT	action.recorded	\N	\N	\N	\N	{"id":"act_01M8S4BVNJSBP2JTCX3HHNEPRQ","action":"update_policy","outcome":"done","key_id":"key_01M8S4BSJ9Q54T71H4T9REPZQF","key_name":null,"key_hint":"psr_op_test_...kHTq","session_id":null,"address":"127.0.0.1","object_id":"acct_2S38FJGRM9Q24G58AG60PA25CP","made_id":null,"after":{"max_single_transfer":50},"tx_signature":null,"request_id":"req_01M8S4BVNHMAZ7FMJQR807Q6NG","created_at":"2026-12-01T15:42:53.618811Z","passkey_name":null}	2026-12-01T15:42:53.757334Z	action.recorded|act_01M8S4BVNJSBP2JTCX3HHNEPRQ	24
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4CJKFQ4A4FHDJ8VD1VEKW	action.recorded	\N	\N	\N	\N	{"id":"act_01M8S4CJKB8MTTVGWPX1GHPMQZ","action":"create_webhook","outcome":"done","key_id":"key_01M8S4BSJ9Q54T71H4T9REPZQF","key_name":null,"key_hint":"psr_op_test_...kHTq","session_id":null,"address":"127.0.0.1","object_id":null,"made_id":"whk_01M8S4CJKD92PYJMS508MGKQFS","after":{"events":["account.halted"],"url":"http://127.0.0.1:9/old"},"tx_signature":null,"request_id":"req_01M8S4CJK9QW06DCS7R5A7Y9RP","created_at":"2026-12-01T15:43:17.099276Z","passkey_name":null}	2026-12-01T15:43:17.103740Z	action.recorded|act_01M8S4CJKB8MTTVGWPX1GHPMQZ	27
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4CJNW0YWKF1HPPMM1Z00Y	action.recorded	\N	\N	\N	\N	{"id":"act_01M8S4CJKNST078RSPAS3D4A1X","action":"replace_policy","outcome":"done","key_id":"key_01M8S4BSJ9Q54T71H4T9REPZQF","key_name":null,"key_hint":"psr_op_test_...kHTq","session_id":null,"address":"127.0.0.1","object_id":"acct_6GJP4GQ9MJJ98HYJSGVQWJKSCS","made_id":null,"after":{"paused":true},"tx_signature":"3BLYwBx8kPHiVr4YiPPAsgwUTi5tv4j1r1AcPbcNB3JPvDA4JuC4tvQZbx6QE3u9TVCe1cTBvNus1HDCB3ZFGfgh","request_id":"req_01M8S4CJKMAN9MJXC04444QVNY","created_at":"2026-12-01T15:43:17.109826Z","passkey_name":null}	2026-12-01T15:43:17.180030Z	action.recorded|act_01M8S4CJKNST078RSPAS3D4A1X	28
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4CJQ17K47W2AEQ5KX8TFY	transfer.initiated	acct_04BJRQZP19CKR6JDNQ3AT84VWX	txn_01M8S4CJP4BCE2V708K4BZX64G	\N	\N	{"transfer_id":"txn_01M8S4CJP4BCE2V708K4BZX64G","account_id":"acct_04BJRQZP19CKR6JDNQ3AT84VWX","to":"BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5","to_wallet":null,"amount_usdc":"3.000000","memo":"01M8S4CJNZE3NWXR7NZ5MM3WGR","idempotency_key":"01M8S4CJNZE3NWXR7NZ5MM3WGR","tx_signature":"2YdDe13V8fBVksvHuviaPoBLE5JLvpkVdp2X5CWGt8c6F5MJ91QHz1togneLNy3RYhkLM85QdY3CPYCus7ihEZbk"}	2026-12-01T15:43:17.217243Z	\N	29
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4CJVP7Q4AA7DY25ZJH7CF	transfer.initiated	acct_04BJRQZP19CKR6JDNQ3AT84VWX	txn_01M8S4CJSS8JYN4J7H8CDDARQE	\N	\N	{"transfer_id":"txn_01M8S4CJSS8JYN4J7H8CDDARQE","account_id":"acct_04BJRQZP19CKR6JDNQ3AT84VWX","to":"BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5","to_wallet":null,"amount_usdc":"0.100000","memo":null,"idempotency_key":"01M8S4CJNZE3NWXR7NZ5MM3WGR-3","tx_signature":"4XcBRrhzB4aa8Cp8aySn1emVBbLpfcNFVk6dBmfTU5xvMwE4zJ6cLPGQfsbS52Jszo6fbxpbjj1pRzHJqUMT2mpk"}	2026-12-01T15:43:17.366247Z	\N	33
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4C3C66YPEHY4TZWA7225T	action.recorded	\N	\N	\N	\N	{"id":"act_01M8S4C39WXX80ETRY73H9K7DP","action":"create_account","outcome":"done","key_id":"key_01M8S4BSJ9Q54T71H4T9REPZQF","key_name":null,"key_hint":"psr_op_test_...kHTq","session_id":null,"address":"127.0.0.1","object_id":null,"made_id":"acct_6GJP4GQ9MJJ98HYJSGVQWJKSCS","after":{"name":"Eve"},"tx_signature":"5XzC6snxUdhFPEgatpD1JzGGMJKSMRAcHZRY59REfhr7E1qW2cw1E4vvZYv8PjD3hW82HcDTSh56EsBgykHnhdhU","request_id":"req_01M8S4C39WXWYWBGP5FT0SS0FV","created_at":"2026-12-01T15:43:01.436957Z","passkey_name":null}	2026-12-01T15:43:01.510222Z	action.recorded|act_01M8S4C39WXX80ETRY73H9K7DP	26
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4CJVFFC90ZHMMX0YS4N6P	transfer.initiated	acct_04BJRQZP19CKR6JDNQ3AT84VWX	txn_01M8S4CJR800ZT2Y6HTGBG78AG	\N	\N	{"transfer_id":"txn_01M8S4CJR800ZT2Y6HTGBG78AG","account_id":"acct_04BJRQZP19CKR6JDNQ3AT84VWX","to":"BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5","to_wallet":null,"amount_usdc":"0.100000","memo":null,"idempotency_key":"01M8S4CJNZE3NWXR7NZ5MM3WGR-11","tx_signature":"Ts3nH46TDtBos2Fe6ZEPmgCyQoaVWVsu1VQAvCMkbR5JNdqfgu6tLUJRMjU5rkB2TiePVXaRWroVb693n4cWCGw"}	2026-12-01T15:43:17.359492Z	\N	31
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4CJV16S8QGXGD00QNWFNY	policy.changed	acct_6GJP4GQ9MJJ98HYJSGVQWJKSCS	\N	\N	\N	{"account_id":"acct_6GJP4GQ9MJJ98HYJSGVQWJKSCS","before":null,"after":{"version":2,"policy":{"max_single_transfer":null,"max_daily_spend":null,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":true}},"signer":"62Srwh4xsMNjD5tuy6jLQgQDqhuxx2JZEGe8eaJoyfuh","tx_signature":"3BLYwBx8kPHiVr4YiPPAsgwUTi5tv4j1r1AcPbcNB3JPvDA4JuC4tvQZbx6QE3u9TVCe1cTBvNus1HDCB3ZFGfgh","changed_at":"2026-12-01T15:43:17.000000Z"}	2026-12-01T15:43:17.345217Z	policy.changed|3BLYwBx8kPHiVr4YiPPAsgwUTi5tv4j1r1AcPbcNB3JPvDA4JuC4tvQZbx6QE3u9TVCe1cTBvNus1HDCB3ZFGfgh|acct_6GJP4GQ9MJJ98HYJSGVQWJKSCS|2	32
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4CJX4W7J2F5PB9M24TY9W	transfer.initiated	acct_04BJRQZP19CKR6JDNQ3AT84VWX	txn_01M8S4CJRERA22KWR5QA5MHZVW	\N	\N	{"transfer_id":"txn_01M8S4CJRERA22KWR5QA5MHZVW","account_id":"acct_04BJRQZP19CKR6JDNQ3AT84VWX","to":"BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5","to_wallet":null,"amount_usdc":"0.100000","memo":null,"idempotency_key":"01M8S4CJNZE3NWXR7NZ5MM3WGR-12","tx_signature":"3bAN9oxVboFAAErdniCtAMjcHs6huUdPsbdmHrTxCpnZ22QxXA3mgowxNvkYvLtjbcNghB777XwN6VbBSXp3ABk2"}	2026-12-01T15:43:17.412903Z	\N	0
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4CJW2YYD4M3F17EMH2FF1	transfer.initiated	acct_04BJRQZP19CKR6JDNQ3AT84VWX	txn_01M8S4CJRFA1NPG106PXMFQ793	\N	\N	{"transfer_id":"txn_01M8S4CJRFA1NPG106PXMFQ793","account_id":"acct_04BJRQZP19CKR6JDNQ3AT84VWX","to":"BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5","to_wallet":null,"amount_usdc":"0.100000","memo":null,"idempotency_key":"01M8S4CJNZE3NWXR7NZ5MM3WGR-7","tx_signature":"5Tb5y6CzsSchZpk21p8EqJBehj1pJ2QoUhr1SMSAVog9UDHzL7DknmY8gBKnLJSj8pm4EZao6XtAeV3R3UWZk7os"}	2026-12-01T15:43:17.378990Z	\N	0
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4CJX7BP8W1R250QT0G01W	transfer.initiated	acct_04BJRQZP19CKR6JDNQ3AT84VWX	txn_01M8S4CJRT4T4JYQ04YV9X3ZYG	\N	\N	{"transfer_id":"txn_01M8S4CJRT4T4JYQ04YV9X3ZYG","account_id":"acct_04BJRQZP19CKR6JDNQ3AT84VWX","to":"BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5","to_wallet":null,"amount_usdc":"0.100000","memo":null,"idempotency_key":"01M8S4CJNZE3NWXR7NZ5MM3WGR-2","tx_signature":"rHkRkyo2STuZWoJSvUwvsNPbxrdoy6M7hrMFnG87PLtrZDJf5KmhywjnbNbskCMGpCBES3b8BuG2EDARsqfgZt7"}	2026-12-01T15:43:17.415374Z	\N	0
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4CJX634CKKQVTY2AYJ8VF	transfer.initiated	acct_04BJRQZP19CKR6JDNQ3AT84VWX	txn_01M8S4CJRH6ASVGPX32E24GKJW	\N	\N	{"transfer_id":"txn_01M8S4CJRH6ASVGPX32E24GKJW","account_id":"acct_04BJRQZP19CKR6JDNQ3AT84VWX","to":"BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5","to_wallet":null,"amount_usdc":"0.100000","memo":null,"idempotency_key":"01M8S4CJNZE3NWXR7NZ5MM3WGR-13","tx_signature":"2ydx3G6JUqXKaV7rQ4DTBftxHZSNuDVpiwrxw6FiT9AGRRhPBiFgsD72ugD9mzGHKJXpvUe3D2xfV55SDfVKoeRT"}	2026-12-01T15:43:17.414100Z	\N	0
op_01M8S4BSHBNTDZFDSMQC65WM9R	evt_01M8S4CJX1DN4J1H2PCBFAAMWX	transfer.initiated	acct_04BJRQZP19CKR6JDNQ3AT84VWX	txn_01M8S4CJS2KQQ1BEKNKW6BZQZA	\N	\N	{"transfer_id":"txn_01M8S4CJS2KQQ1BEKNKW6BZQZA","account_id":"acct_04BJRQZP19CKR6JDNQ3AT84VWX","to":"BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5","to_wallet":null,"amount_usdc":"0.100000","memo":null,"idempotency_key":"01M8S4CJNZE3NWXR7NZ5MM3WGR-0","tx_signature":"4uNCRo4uo35DDYRSCZkw955sVoNhopoqFNpqqrFePhL372yDNZnwNcTBJgZwr6fMgkkdUsPQSuFewReUDA7Gx5c9"}	2026-12-01T15:43:17.409437Z	\N	0
\.


--
-- Data for Name: grants_opened; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.grants_opened (operator_id, account_id, grant_id, tx_signature, slot, signer, opened_at, expires_unix) FROM stdin;
\.


--
-- Data for Name: history; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.history (operator_id, entry_id, account_id, network, kind, status, amount_usdc, counterparty, memo, transfer_id, tx_signature, slot, reason, message, is_final, created_at, "position", number, tag, read_at, spent_micros, policy_version, asked_at) FROM stdin;
op_01M8S4BSHBNTDZFDSMQC65WM9R	ent_01M8S4BT7V2P208G0S3Q4DA3PX	acct_2S38FJGRM9Q24G58AG60PA25CP	test	transfer	rejected	11.000000	acct_6HA78383951JKGQ3SKR8SYZC6N	rejected	txn_01M8S4BT7V2P208G0S3Q4DA3PX	\N	\N	single_limit_exceeded	11.00 USDC is over the account's limit of 10.00 USDC per payment.	t	2026-12-01T15:42:52.162376Z	2026-12-01T15:42:52.162376Z	\N	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	ent_01M8S4BT8BRTK9ZSWAKS7502YM	acct_2S38FJGRM9Q24G58AG60PA25CP	test	transfer	rejected	2.000000	BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5	rejected for its payee	txn_01M8S4BT8BRTK9ZSWAKS7502YM	\N	\N	recipient_not_allowed	The payee is not on the account's list of allowed payees.	t	2026-12-01T15:42:52.173658Z	2026-12-01T15:42:52.173658Z	\N	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	ent_3EP8FAPVHVYJA7B839VZGBZQME	acct_2S38FJGRM9Q24G58AG60PA25CP	test	deposit	settled	50.000000	\N	\N	\N	2PGSymeFa6GsXo9PEjkj48CYLiezE3U8Kbo44buc4FmqYtxaJvr9GG9F8ZXwu7gAywkr8eastq9a3fAWMjMikLzn	51	\N	\N	t	2026-12-01T15:42:51.000000Z	2026-12-01T15:42:51.823683Z	\N	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	ent_79R0MRM331HCG2WV3FHVJZRSVJ	acct_04BJRQZP19CKR6JDNQ3AT84VWX	test	deposit	settled	20.000000	\N	\N	\N	3K5B7PMPLJ23zzQFmUXovnFBG9samzNfe8chkLDVVL6cph7XUd1u3ELabWxT8QT16zkbsrr1nhQy95DycNhzGQYT	52	\N	\N	t	2026-12-01T15:42:51.000000Z	2026-12-01T15:42:52.096944Z	\N	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	ent_7VHB36PP6M461MM93FQJ8GYJN3	acct_2S38FJGRM9Q24G58AG60PA25CP	test	transfer	settled	1.500000	2x58moMWZAiwJ6BnqrPWovfsNoDbC9vW47eiLbYkpcth	settled	txn_01M8S4BT4V8109D6E51Y3R9QHM	3KRdnVPcC9vDv7ZsA1j9LhVuW1UhpuqytLZYGLteZhp9g2UJwMN5w7cJD93MjoGn962Xns9R5wNNbGTKtVEBnfZj	59	\N	\N	t	2026-12-01T15:42:52.060000Z	2026-12-01T15:42:52.142693Z	1	34de84870fc59996	\N	1500000	3	1796139771
op_01M8S4BSHBNTDZFDSMQC65WM9R	ent_5ZPWS537Q3X8YGY5W0M1PRS6HG	acct_6HA78383951JKGQ3SKR8SYZC6N	test	deposit	settled	1.500000	Dg6vFhJFQ7z8njnws9bEghBJUwzbYxruAprUB6vdTZnD	settled	txn_01M8S4BT4V8109D6E51Y3R9QHM	3KRdnVPcC9vDv7ZsA1j9LhVuW1UhpuqytLZYGLteZhp9g2UJwMN5w7cJD93MjoGn962Xns9R5wNNbGTKtVEBnfZj	59	\N	\N	t	2026-12-01T15:42:52.060000Z	2026-12-01T15:42:52.142693Z	\N	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	ent_36XZKKAKFYJTDCHTYGG63794SJ	acct_2S38FJGRM9Q24G58AG60PA25CP	test	withdrawal	settled	2.000000	2x58moMWZAiwJ6BnqrPWovfsNoDbC9vW47eiLbYkpcth	\N	\N	5Gfb7HkKa62AzAqwVnrRDgYQpJWAJbaMUwd5NdT314RebUKyApG6D7AEWy22f4uMzbgFUcPhHwjBuaFGa7hPuc85	64	\N	\N	t	2026-12-01T15:42:52.000000Z	2026-12-01T15:42:52.321466Z	\N	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	ent_2RD9619J7PKRAJ259PMQ8HW6YM	acct_6HA78383951JKGQ3SKR8SYZC6N	test	deposit	settled	2.000000	Dg6vFhJFQ7z8njnws9bEghBJUwzbYxruAprUB6vdTZnD	\N	\N	5Gfb7HkKa62AzAqwVnrRDgYQpJWAJbaMUwd5NdT314RebUKyApG6D7AEWy22f4uMzbgFUcPhHwjBuaFGa7hPuc85	64	\N	\N	t	2026-12-01T15:42:52.000000Z	2026-12-01T15:42:52.321466Z	\N	\N	\N	\N	\N	\N
\.


--
-- Data for Name: ledgers; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.ledgers (operator_id, account_id, booked_micros, unexplained_micros, seen_micros, seen_slot, payments_up_to, payments_beyond, payments_unnumbered, payments_wanted, placed_micros, newest_slot) FROM stdin;
op_01M8S4BSHBNTDZFDSMQC65WM9R	acct_04BJRQZP19CKR6JDNQ3AT84VWX	20000000	0	20000000	51	0		0	0	1796139772096944	52
op_01M8S4BSHBNTDZFDSMQC65WM9R	acct_2S38FJGRM9Q24G58AG60PA25CP	46500000	0	46500000	65	0		0	0	1796139772321466	64
op_01M8S4BSHBNTDZFDSMQC65WM9R	acct_6HA78383951JKGQ3SKR8SYZC6N	3500000	0	3500000	65	0		0	0	1796139772321466	64
op_01M8S4BSHBNTDZFDSMQC65WM9R	acct_6GJP4GQ9MJJ98HYJSGVQWJKSCS	0	1000000	1000000	295	0		0	0	0	0
\.


--
-- Data for Name: marks; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.marks (name, at, holder) FROM stdin;
sweep test	2026-12-01T15:43:17.044713Z	\N
index test	2026-12-01T15:43:27.851688Z	0fe7b6d9ab46110df14e2778c338bc33
probe	2026-12-01T15:43:16.673459Z	\N
\.


--
-- Data for Name: operators; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.operators (operator_id, network, name, address, created_at, last_place, limits_since, head_number, head_signature, head_next_at, requires_reason) FROM stdin;
op_01M8S4BSHBNTDZFDSMQC65WM9R	test	Operator 0	E3Aze5ySQqxeDd2oKT44zKmuNqkhnZAWoZtsfbjsKuf2	2026-12-01T15:42:51.435698Z	33	2026-12-01T15:37:52.042016Z	2	5X6aSJQcHMTVA7Hawb9QZ3P5CmjttHNsLS521D96PhCT1gyFdJ2ygETdSVHU3TRr6tJ5NHVHvcX8uCU4n2Z24E55	2026-12-02T15:43:01.335233Z	f
\.


--
-- Data for Name: passkeys; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.passkeys (passkey_id, key_id, name, credential_id, credential, created_at, used_at) FROM stdin;
\.


--
-- Data for Name: pending_fetches; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.pending_fetches (network, tx_signature, slot, tries, next_try_at) FROM stdin;
test	5XzC6snxUdhFPEgatpD1JzGGMJKSMRAcHZRY59REfhr7E1qW2cw1E4vvZYv8PjD3hW82HcDTSh56EsBgykHnhdhU	293	5	2026-12-01T15:43:33.040187Z
test	4MTuMq8WhaaLPTsNAdgEnCjRpBfGigC3qRDZeyxjngWQMJSqxXPLEdAnLDVchsuechTUPKRVkWiWAzbT3RsDQWQg	295	5	2026-12-01T15:43:33.042983Z
\.


--
-- Data for Name: pending_policies; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.pending_policies (operator_id, account_id, hash, expected_version, allowlist_entries, due_unix, is_announced, created_at, sealed_by) FROM stdin;
op_01M8S4BSHBNTDZFDSMQC65WM9R	acct_2S38FJGRM9Q24G58AG60PA25CP	cb3242535f55de15f787417241d555df64bef81e8d1b077b1db200b143f04a4e	3	1	1796226173	t	2026-12-01T15:42:53.628120Z	\N
\.


--
-- Data for Name: policy_askings; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.policy_askings (operator_id, account_id, done_by, version, key_id, reason, action_id) FROM stdin;
op_01M8S4BSHBNTDZFDSMQC65WM9R	acct_2S38FJGRM9Q24G58AG60PA25CP	4NXDsSnBAJrDAfvMydQSKeGk9FZsTsvv94v3sTJtveEMU9YoA5vdVU3jUeq1fm3CnXp3ob9S5uh5jDupbsNMXLbV	\N	key_01M8S4BSJ9Q54T71H4T9REPZQF	\N	act_01M8S4BSYT0308F1JNAGH98PKQ
op_01M8S4BSHBNTDZFDSMQC65WM9R	acct_2S38FJGRM9Q24G58AG60PA25CP	2j3dgaBjRsThAK1TvuFNU7BePFx1YCeEyRWtzsuLuJm3PX8YNbGriik3TPtXsjW8tTNkuKLni88v53hXzYix8Hnf	\N	key_01M8S4BSJ9Q54T71H4T9REPZQF	\N	act_01M8S4BT1BH19NV24AWN8BV1EN
op_01M8S4BSHBNTDZFDSMQC65WM9R	acct_2S38FJGRM9Q24G58AG60PA25CP	cb3242535f55de15f787417241d555df64bef81e8d1b077b1db200b143f04a4e	\N	key_01M8S4BSJ9Q54T71H4T9REPZQF	\N	act_01M8S4BVNJSBP2JTCX3HHNEPRQ
op_01M8S4BSHBNTDZFDSMQC65WM9R	acct_6GJP4GQ9MJJ98HYJSGVQWJKSCS	3BLYwBx8kPHiVr4YiPPAsgwUTi5tv4j1r1AcPbcNB3JPvDA4JuC4tvQZbx6QE3u9TVCe1cTBvNus1HDCB3ZFGfgh	\N	key_01M8S4BSJ9Q54T71H4T9REPZQF	\N	act_01M8S4CJKNST078RSPAS3D4A1X
\.


--
-- Data for Name: policy_versions; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.policy_versions (operator_id, account_id, version, tx_signature, set_at, signer, policy) FROM stdin;
op_01M8S4BSHBNTDZFDSMQC65WM9R	acct_2S38FJGRM9Q24G58AG60PA25CP	1	2Kv3MUgNrjH4UULhBDq3tmqhUPLRdi7MdNhDXBwFpmWCUgGY1kzeiVdLp8Yb9EJN1WoH6ZkkDFT8x5KCruY2oYW1	2026-12-01T15:42:51.000000Z	62Srwh4xsMNjD5tuy6jLQgQDqhuxx2JZEGe8eaJoyfuh	{"max_single_transfer":null,"max_daily_spend":null,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}
op_01M8S4BSHBNTDZFDSMQC65WM9R	acct_6HA78383951JKGQ3SKR8SYZC6N	1	5FSxXoMLcerCtfZXj1mBhpPxfiPr9T2Ax7CdAs5hRj9TqQEjyVqhTR9NkzRTQcQd24hNkBoRvwSJHujiiKHJULPX	2026-12-01T15:42:51.000000Z	62Srwh4xsMNjD5tuy6jLQgQDqhuxx2JZEGe8eaJoyfuh	{"max_single_transfer":null,"max_daily_spend":null,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}
op_01M8S4BSHBNTDZFDSMQC65WM9R	acct_04BJRQZP19CKR6JDNQ3AT84VWX	1	58wqTiJbMkZX76XuDXSxA3v2r9PW2UqmW1fo8zLDudhyXeGhBRD4bXF4E5MFwHVFckBHKjCfgurU6vBcS1JBsEtP	2026-12-01T15:42:51.000000Z	62Srwh4xsMNjD5tuy6jLQgQDqhuxx2JZEGe8eaJoyfuh	{"max_single_transfer":null,"max_daily_spend":null,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}
op_01M8S4BSHBNTDZFDSMQC65WM9R	acct_2S38FJGRM9Q24G58AG60PA25CP	2	4NXDsSnBAJrDAfvMydQSKeGk9FZsTsvv94v3sTJtveEMU9YoA5vdVU3jUeq1fm3CnXp3ob9S5uh5jDupbsNMXLbV	2026-12-01T15:42:51.000000Z	62Srwh4xsMNjD5tuy6jLQgQDqhuxx2JZEGe8eaJoyfuh	{"max_single_transfer":10,"max_daily_spend":40,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}
op_01M8S4BSHBNTDZFDSMQC65WM9R	acct_2S38FJGRM9Q24G58AG60PA25CP	3	2j3dgaBjRsThAK1TvuFNU7BePFx1YCeEyRWtzsuLuJm3PX8YNbGriik3TPtXsjW8tTNkuKLni88v53hXzYix8Hnf	2026-12-01T15:42:51.000000Z	62Srwh4xsMNjD5tuy6jLQgQDqhuxx2JZEGe8eaJoyfuh	{"max_single_transfer":10,"max_daily_spend":null,"allowed_counterparties":["87QbhsrqaqanHhYaEUWgUxcmUmWgezFdaohCYFCwjr5z"],"counterparty_kinds":["wallet"],"require_memo":true,"paused":false}
op_01M8S4BSHBNTDZFDSMQC65WM9R	acct_2NQC4K44MS6D7MMCE6QDHTB4Q4	1	4WCSnv1Mnq8a9aNBUfS4q9sGDNA51GvydR2XME4XrMutWbtSnhKGCWcRYMMLJ5hESS6CRSSo7Nrj9yH4FeFqbxE5	2026-12-01T15:42:52.000000Z	62Srwh4xsMNjD5tuy6jLQgQDqhuxx2JZEGe8eaJoyfuh	{"max_single_transfer":null,"max_daily_spend":null,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}
op_01M8S4BSHBNTDZFDSMQC65WM9R	acct_6GJP4GQ9MJJ98HYJSGVQWJKSCS	2	3BLYwBx8kPHiVr4YiPPAsgwUTi5tv4j1r1AcPbcNB3JPvDA4JuC4tvQZbx6QE3u9TVCe1cTBvNus1HDCB3ZFGfgh	2026-12-01T15:43:17.000000Z	62Srwh4xsMNjD5tuy6jLQgQDqhuxx2JZEGe8eaJoyfuh	{"max_single_transfer":null,"max_daily_spend":null,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":true}
\.


--
-- Data for Name: requests; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.requests (operator_id, idempotency_key, fingerprint, key_id, seed, lease, lease_expires_at, status_code, answer, is_sealed, created_at) FROM stdin;
op_01M8S4BSHBNTDZFDSMQC65WM9R	01M8S4BT8VHBQ216KKY4B0NPHT	4614ac65e5dc4f23614144f625ce5445505c77b2edc04bb0c99d4a158f5ef96d	key_01M8S4BSJ9Q54T71H4T9REPZQF	e9b005a5e4d226df2b29929cbee106d0	761f8dd166e20a719520fecb1f5516cd	2026-12-01T15:43:22.188339Z	201	{"account_id":"acct_2NQC4K44MS6D7MMCE6QDHTB4Q4","name":"Cleo","solana_address":"635acB3anULjWgEYSNZ95SSKnaaQwp3en2b9uQ5tSmJg","usdc_token_account":"9s3VomuB2vUeaXUE3uA9gE8jhAd94uQStbZCceRztNQC","balance_usdc":"0.000000","balance_as_of":"2026-12-01T15:42:52.257882Z","status":"active","halted":null,"policy":{"max_single_transfer":null,"max_daily_spend":null,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false},"metadata":null,"tags":[],"duplicates":"as_asked","approvals":"on","create_token_accounts":false,"created_at":"2026-12-01T15:42:52.194036Z","warnings":[]}	f	2026-12-01T15:42:52.188339Z
\.


--
-- Data for Name: sessions; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.sessions (token_hash, key_id, started_at, used_at, address, passkey_id) FROM stdin;
77a43ea0c25af5d730187b62fd8e436612347349ba26ef712f0dc4e82dd4d1ab	key_01M8S4BSJ9Q54T71H4T9REPZQF	2026-12-01T15:42:53.766846Z	2026-12-01T15:42:53.766846Z	127.0.0.1	\N
\.


--
-- Data for Name: token_account_creations; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.token_account_creations (operator_id, account_id, wallet, idempotency_key, created_at, lease_expires_at) FROM stdin;
\.


--
-- Data for Name: transfers; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.transfers (operator_id, transfer_id, network, account_id, key_id, recipient, amount_usdc, memo, idempotency_key, key_use, key_expires_unix, fingerprint, fee_payer, refusal, state, lease_holder, lease_expires_at, signed_bytes, tx_signature, last_valid_block_height, sent_at, slot, ended_at, reason, message, checks, policy_version, reopened, denial, retry_at, resource, created_at, updated_at, asks_approval, approval_reason, approval_expires_at, asked_at, earlier_valid_until, paid_before_count, paid_before_usdc, paid_before_last_at, to_wallet) FROM stdin;
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4BT4V8109D6E51Y3R9QHM	test	acct_2S38FJGRM9Q24G58AG60PA25CP	key_01M8S4BSJ9Q54T71H4T9REPZQF	acct_6HA78383951JKGQ3SKR8SYZC6N	1.500000	settled	01M8S4BT4NSX5MPKTTQNW8PB2B	1	1796226172	94a60fd8caa56b139fed905648ccd93f072dd1286c899261732d78703f8db180	\N	\N	settled	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:07.077926Z	AXPsO3uXCs1j+kaSUD0symlweJSNusiRYbaRzfFIB3lTRowyYFQlzyWaOMD6PAfjnlEJRjt9KR0pMd0WNNEuKAoBAAQIQOQBb7bqe0stMVVh9RPEn6o7IVv3tAVBvpMkVhKiFhwc905GascFSG6s2fey9efO8rQJL97kDWpGv4JobLM8CqivJ9cDNskJBK9Gz7SW0uPb86knCND31/lb1JEMwlNzvFCWG3Ycz+EHv3A3yk0VBoD4kuCKGbYdKL8EALLA6G4DBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKnBtmRES5iVHOgAVOW0Ls3N+u45i2A/wxScSwEi++annQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34R8+FAwQABQJkFAAABAAFBAAAEAAFBgAHAgMBBiujNMjnAaIyReibQECWmcUPh4TeNPvqDmtg4xYAAAAAAAcAAABzZXR0bGVk	3KRdnVPcC9vDv7ZsA1j9LhVuW1UhpuqytLZYGLteZhp9g2UJwMN5w7cJD93MjoGn962Xns9R5wNNbGTKtVEBnfZj	177	2026-12-01T15:42:52.112245Z	59	2026-12-01T15:42:52.060000Z	\N	\N	\N	3	0	\N	\N	\N	2026-12-01T15:42:52.059299Z	2026-12-01T15:42:52.142693Z	0	\N	\N	1796139771	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4BT8N8706KYGYHKWKB42E	test	acct_6HA78383951JKGQ3SKR8SYZC6N	key_01M8S4BSJ9Q54T71H4T9REPZQF	BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5	100.000000	failed	01M8S4BT4N8X7KG08D0QF51DMG	1	1796226172	6e5239efab378a2c1d772bafd95d186b9f572ccb0090b61e55704aa5d0d718c3	\N	\N	failed	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:07.184000Z	\N	\N	\N	\N	\N	2026-12-01T15:42:52.183892Z	insufficient_balance	The account holds 1.50 USDC, less than the 100.00 USDC of this payment. Send it USDC at 2x58moMWZAiwJ6BnqrPWovfsNoDbC9vW47eiLbYkpcth.	\N	1	0	\N	\N	\N	2026-12-01T15:42:52.181546Z	2026-12-01T15:42:52.184000Z	0	\N	\N	1796139772	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4BT7V2P208G0S3Q4DA3PX	test	acct_2S38FJGRM9Q24G58AG60PA25CP	key_01M8S4BSJ9Q54T71H4T9REPZQF	acct_6HA78383951JKGQ3SKR8SYZC6N	11.000000	rejected	01M8S4BT4NZKWMNNB43YY7PXTP	1	1796226172	32510fbd8e7a2fcee5e867a7a7f746fe0cbe47e9fe1ff81eaa7bd30ecd1794d7	\N	\N	rejected	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:07.162475Z	\N	\N	\N	\N	\N	2026-12-01T15:42:52.162376Z	single_limit_exceeded	11.00 USDC is over the account's limit of 10.00 USDC per payment.	[{"rule":"paused"},{"rule":"require_memo"},{"rule":"allowed_counterparties"},{"rule":"max_single_transfer","broken":true,"limit":"10.000000"},{"rule":"max_daily_spend","used":"1.500000"},{"rule":"balance","limit":"48.500000"}]	3	0	1	\N	\N	2026-12-01T15:42:52.155746Z	2026-12-01T15:42:52.162475Z	0	\N	\N	1796139772	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4BT8BRTK9ZSWAKS7502YM	test	acct_2S38FJGRM9Q24G58AG60PA25CP	key_01M8S4BSJ9Q54T71H4T9REPZQF	BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5	2.000000	rejected for its payee	01M8S4BT4NFN8K6K89YQNJR5C9	1	1796226172	09d453851d5c89034a0b6b37857f7ff303d6bc782f1d78b8d50ec195b04af4f1	\N	\N	rejected	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:07.173734Z	\N	\N	\N	\N	\N	2026-12-01T15:42:52.173658Z	recipient_not_allowed	The payee is not on the account's list of allowed payees.	[{"rule":"paused"},{"rule":"require_memo"},{"rule":"allowed_counterparties","broken":true},{"rule":"max_single_transfer","limit":"10.000000"},{"rule":"max_daily_spend","used":"1.500000"},{"rule":"balance","limit":"48.500000"}]	3	0	2	\N	\N	2026-12-01T15:42:52.171129Z	2026-12-01T15:42:52.173734Z	0	\N	\N	1796139772	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4CJP4BCE2V708K4BZX64G	test	acct_04BJRQZP19CKR6JDNQ3AT84VWX	key_01M8S4BSJ9Q54T71H4T9REPZQF	BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5	3.000000	01M8S4CJNZE3NWXR7NZ5MM3WGR	01M8S4CJNZE3NWXR7NZ5MM3WGR	1	1796226197	813e212d23a97e6492a1505a538f78096239dea6c71e5ce70d60865174d60251	\N	\N	sent	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:32.193246Z	AU1J6ZfI/W5P6YW0RQ3tIVQQvFKBpy5sRKS5Ct0M40I+fO19y6NO5Ywq+r3LyiRQuvf4Lm3uiwmf5vo/Em7lIgcBAAQIQOQBb7bqe0stMVVh9RPEn6o7IVv3tAVBvpMkVhKiFhwOtxcz0TIo1KfrJhnbOl+ew+UHlL0QNM0XBIc33K0fHlk3wTopTSK1PbCnib0fACMFQp+KtwGNkVfsIjITcDS3oA3KZXR3T4/AVGWv8zPVSLaCJJPi/Euk96RaWkGT82ADBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKnBtmRES5iVHOgAVOW0Ls3N+u45i2A/wxScSwEi++annQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQstAwQABQLaFAAABAAFBAAAEAAFBgAHAQIDBj6jNMjnAaIyRkrEWxwtnAiZF/6YkBTrDmvAxi0AAAAAABoAAAAwMU04UzRDSk5aRTNOV1hSN05aNU1NM1dHUg==	2YdDe13V8fBVksvHuviaPoBLE5JLvpkVdp2X5CWGt8c6F5MJ91QHz1togneLNy3RYhkLM85QdY3CPYCus7ihEZbk	781	2026-12-01T15:43:17.217231Z	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-12-01T15:43:17.188545Z	2026-12-01T15:43:17.217243Z	0	\N	\N	1796139796	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4CJT2281ZS5NXBYHGF3RT	test	acct_04BJRQZP19CKR6JDNQ3AT84VWX	key_01M8S4BSJ9Q54T71H4T9REPZQF	BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5	0.100000	\N	01M8S4CJNZE3NWXR7NZ5MM3WGR-6	1	1796226197	907dacf207fa6413c8c4c95484eba9367641a74383f9dfe23dbc4101a8eb7d06	\N	\N	signed	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:32.348758Z	AdypMkpJJaYl3tx5LBkIaX9crJ/hJdCM6rZluhKtN/zqbp1uLwg3eE83pomWR63Kfhge2wYKy/Cflpq3r9WqxQ0BAAQIQOQBb7bqe0stMVVh9RPEn6o7IVv3tAVBvpMkVhKiFhwOtxcz0TIo1KfrJhnbOl+ew+UHlL0QNM0XBIc33K0fHlk3wTopTSK1PbCnib0fACMFQp+KtwGNkVfsIjITcDS3oA3KZXR3T4/AVGWv8zPVSLaCJJPi/Euk96RaWkGT82ADBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKnBtmRES5iVHOgAVOW0Ls3N+u45i2A/wxScSwEi++annQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQstAwQABQIAFQAABAAFBAAAEAAFBgAHAQIDBiSjNMjnAaIyRktCEgP8lr1fowePGhXrDmughgEAAAAAAAAAAAA=	5Qt2FEisMyR26hZ2Qm4rwbB1YSSH7rw62x5PZRfCyAF3Jetdek1pHXiH63tyo69VCkWESdtpbzsAbpkuYdQidTL8	781	\N	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-12-01T15:43:17.314741Z	2026-12-01T15:43:17.348758Z	0	\N	\N	1796139797	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4CJSS8JYN4J7H8CDDARQE	test	acct_04BJRQZP19CKR6JDNQ3AT84VWX	key_01M8S4BSJ9Q54T71H4T9REPZQF	BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5	0.100000	\N	01M8S4CJNZE3NWXR7NZ5MM3WGR-3	1	1796226197	907dacf207fa6413c8c4c95484eba9367641a74383f9dfe23dbc4101a8eb7d06	\N	\N	sent	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:32.323881Z	AbBx5lGfaaN8xuA61Jub3cHq7OGZn+DMLXAliJCMAiYHFQnge//ppE8Eyz3GiAmx3YwTFi5frhZsB1bpFN/sEQkBAAQIQOQBb7bqe0stMVVh9RPEn6o7IVv3tAVBvpMkVhKiFhwOtxcz0TIo1KfrJhnbOl+ew+UHlL0QNM0XBIc33K0fHlk3wTopTSK1PbCnib0fACMFQp+KtwGNkVfsIjITcDS3oA3KZXR3T4/AVGWv8zPVSLaCJJPi/Euk96RaWkGT82ADBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKnBtmRES5iVHOgAVOW0Ls3N+u45i2A/wxScSwEi++annQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQstAwQABQL3FAAABAAFBAAAEAAFBgAHAQIDBiSjNMjnAaIyRks5RL1SSPFDGtVi7hXrDmughgEAAAAAAAAAAAA=	4XcBRrhzB4aa8Cp8aySn1emVBbLpfcNFVk6dBmfTU5xvMwE4zJ6cLPGQfsbS52Jszo6fbxpbjj1pRzHJqUMT2mpk	781	2026-12-01T15:43:17.366243Z	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-12-01T15:43:17.305591Z	2026-12-01T15:43:17.366247Z	0	\N	\N	1796139797	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4CJRFA1NPG106PXMFQ793	test	acct_04BJRQZP19CKR6JDNQ3AT84VWX	key_01M8S4BSJ9Q54T71H4T9REPZQF	BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5	0.100000	\N	01M8S4CJNZE3NWXR7NZ5MM3WGR-7	1	1796226197	907dacf207fa6413c8c4c95484eba9367641a74383f9dfe23dbc4101a8eb7d06	\N	\N	sent	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:32.316075Z	Ad7/ByBOvPogTNv4yD9VE3WPWf5ka545/xVxlGOg+bK65+U6QKAOy1wCszWIJed0XWif+a9Ikz2oBkRQJsWXpQ4BAAQIQOQBb7bqe0stMVVh9RPEn6o7IVv3tAVBvpMkVhKiFhwOtxcz0TIo1KfrJhnbOl+ew+UHlL0QNM0XBIc33K0fHlk3wTopTSK1PbCnib0fACMFQp+KtwGNkVfsIjITcDS3oA3KZXR3T4/AVGWv8zPVSLaCJJPi/Euk96RaWkGT82ADBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKnBtmRES5iVHOgAVOW0Ls3N+u45i2A/wxScSwEi++annQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQstAwQABQL1FAAABAAFBAAAEAAFBgAHAQIDBiSjNMjnAaIyRksPUGtoBAa3aPudIxXrDmughgEAAAAAAAAAAAA=	5Tb5y6CzsSchZpk21p8EqJBehj1pJ2QoUhr1SMSAVog9UDHzL7DknmY8gBKnLJSj8pm4EZao6XtAeV3R3UWZk7os	781	2026-12-01T15:43:17.378986Z	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-12-01T15:43:17.263819Z	2026-12-01T15:43:17.378990Z	0	\N	\N	1796139797	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4CJRQFJ4CVZ9ZB2XY08PK	test	acct_04BJRQZP19CKR6JDNQ3AT84VWX	key_01M8S4BSJ9Q54T71H4T9REPZQF	BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5	0.100000	\N	01M8S4CJNZE3NWXR7NZ5MM3WGR-10	1	1796226197	907dacf207fa6413c8c4c95484eba9367641a74383f9dfe23dbc4101a8eb7d06	\N	\N	signed	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:32.327972Z	AWgkfndQj9SURg9M1JtNhsJUGNJwRKltcAOYgt5sZdELAyur+dbAnn6ZmnvDPAf/VEQbA1l2DpXTGNEDqRyJFwYBAAQIQOQBb7bqe0stMVVh9RPEn6o7IVv3tAVBvpMkVhKiFhwOtxcz0TIo1KfrJhnbOl+ew+UHlL0QNM0XBIc33K0fHlk3wTopTSK1PbCnib0fACMFQp+KtwGNkVfsIjITcDS3oA3KZXR3T4/AVGWv8zPVSLaCJJPi/Euk96RaWkGT82ADBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKnBtmRES5iVHOgAVOW0Ls3N+u45i2A/wxScSwEi++annQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQstAwQABQL5FAAABAAFBAAAEAAFBgAHAQIDBiSjNMjnAaIyRksXfIjN/T9Yu+Ai0xXrDmughgEAAAAAAAAAAAA=	35mL8ZvK2mU4E4egkR5qGxVaHM1Jh6GbzYLEUcZAtCpKpkHKg5fWLDbX9gLw1iBbyWQU4VWuWiGXF4xBBgfsVHyP	781	\N	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-12-01T15:43:17.271358Z	2026-12-01T15:43:17.327972Z	0	\N	\N	1796139797	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4CJS03NK67S6DEGCXC5HA	test	acct_04BJRQZP19CKR6JDNQ3AT84VWX	key_01M8S4BSJ9Q54T71H4T9REPZQF	BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5	0.100000	\N	01M8S4CJNZE3NWXR7NZ5MM3WGR-15	1	1796226197	907dacf207fa6413c8c4c95484eba9367641a74383f9dfe23dbc4101a8eb7d06	\N	\N	signed	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:32.340166Z	ARBvdw+Vl4bqnw+yeTqXe/phnIld8emT6s5XwAwpbVn2j/jPknV8ekjVs/soTDHrEoDm4FlmJwo4WsFh2SCwlgYBAAQIQOQBb7bqe0stMVVh9RPEn6o7IVv3tAVBvpMkVhKiFhwOtxcz0TIo1KfrJhnbOl+ew+UHlL0QNM0XBIc33K0fHlk3wTopTSK1PbCnib0fACMFQp+KtwGNkVfsIjITcDS3oA3KZXR3T4/AVGWv8zPVSLaCJJPi/Euk96RaWkGT82ADBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKnBtmRES5iVHOgAVOW0Ls3N+u45i2A/wxScSwEi++annQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQstAwQABQL/FAAABAAFBAAAEAAFBgAHAQIDBiSjNMjnAaIyRksgHWZj5M10GdYWKhXrDmughgEAAAAAAAAAAAA=	L4Q7wx6dArf3njbzjVqgxi75Sau39r13P1Ghj51g2tY4mTTMD19vZuzW3dKTnHz2HRwk6ufpU5rLfZb5sjWDC1B	781	\N	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-12-01T15:43:17.280166Z	2026-12-01T15:43:17.340166Z	0	\N	\N	1796139797	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4CJSK8JVVY7F58FT51WTH	test	acct_04BJRQZP19CKR6JDNQ3AT84VWX	key_01M8S4BSJ9Q54T71H4T9REPZQF	BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5	0.100000	\N	01M8S4CJNZE3NWXR7NZ5MM3WGR-4	1	1796226197	907dacf207fa6413c8c4c95484eba9367641a74383f9dfe23dbc4101a8eb7d06	\N	\N	signed	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:32.337528Z	AYqo1squywsWPZ1OxCy4kyp5PCehcGZuOSuQ1FBnjXvfS4O+S9k+dAjRs75CAjfanAlfLDnZo59q5ptEMV6/wQ8BAAQIQOQBb7bqe0stMVVh9RPEn6o7IVv3tAVBvpMkVhKiFhwOtxcz0TIo1KfrJhnbOl+ew+UHlL0QNM0XBIc33K0fHlk3wTopTSK1PbCnib0fACMFQp+KtwGNkVfsIjITcDS3oA3KZXR3T4/AVGWv8zPVSLaCJJPi/Euk96RaWkGT82ADBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKnBtmRES5iVHOgAVOW0Ls3N+u45i2A/wxScSwEi++annQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQstAwQABQL8FAAABAAFBAAAEAAFBgAHAQIDBiSjNMjnAaIyRkszRLe/HeVD9FDzURXrDmughgEAAAAAAAAAAAA=	3mnqsFH23VoaSi5CtVB1bmTSVmQY3aUEGGjRTXyZVrmr9MbCwvwFFYNsB9Wy1CZKWk34tiTF6kYWVC6BigK8ptop	781	\N	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-12-01T15:43:17.299385Z	2026-12-01T15:43:17.337528Z	0	\N	\N	1796139797	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4CJRJ36PC12NAGM6B1WAR	test	acct_04BJRQZP19CKR6JDNQ3AT84VWX	key_01M8S4BSJ9Q54T71H4T9REPZQF	BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5	0.100000	\N	01M8S4CJNZE3NWXR7NZ5MM3WGR-8	1	1796226197	907dacf207fa6413c8c4c95484eba9367641a74383f9dfe23dbc4101a8eb7d06	\N	\N	sent	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:32.295777Z	AYwJiswPmS55HwC3KSWG+utDcAAhY+eum7pRhNfrfJLoxxXYZbvZV35kC13ufikqsShXxTfBybb244dvQ2HoVA8BAAQIQOQBb7bqe0stMVVh9RPEn6o7IVv3tAVBvpMkVhKiFhwOtxcz0TIo1KfrJhnbOl+ew+UHlL0QNM0XBIc33K0fHlk3wTopTSK1PbCnib0fACMFQp+KtwGNkVfsIjITcDS3oA3KZXR3T4/AVGWv8zPVSLaCJJPi/Euk96RaWkGT82ADBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKnBtmRES5iVHOgAVOW0Ls3N+u45i2A/wxScSwEi++annQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQstAwQABQL0FAAABAAFBAAAEAAFBgAHAQIDBiSjNMjnAaIyRksSGazAiqqFDLDxWBXrDmughgEAAAAAAAAAAAA=	3oPWLZi51e8SaCaBaDbcED5WZwN9JH72PavzNu1rrDvt3zfZStuuU8BwzCZRusrWCQsNSEv4vaVeCkRaPNszAuwC	781	2026-12-01T15:43:17.347737Z	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-12-01T15:43:17.266763Z	2026-12-01T15:43:17.347739Z	0	\N	\N	1796139797	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4CJR800ZT2Y6HTGBG78AG	test	acct_04BJRQZP19CKR6JDNQ3AT84VWX	key_01M8S4BSJ9Q54T71H4T9REPZQF	BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5	0.100000	\N	01M8S4CJNZE3NWXR7NZ5MM3WGR-11	1	1796226197	907dacf207fa6413c8c4c95484eba9367641a74383f9dfe23dbc4101a8eb7d06	\N	\N	sent	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:32.293704Z	ARcqYOxzbTGxinkVBIWW5QGbO/jv6x5/db6uCV0L48Dh3WXxHBNHsdUpXqLZcgrymxB0uB3R9m+PnQsumWYolQABAAQIQOQBb7bqe0stMVVh9RPEn6o7IVv3tAVBvpMkVhKiFhwOtxcz0TIo1KfrJhnbOl+ew+UHlL0QNM0XBIc33K0fHlk3wTopTSK1PbCnib0fACMFQp+KtwGNkVfsIjITcDS3oA3KZXR3T4/AVGWv8zPVSLaCJJPi/Euk96RaWkGT82ADBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKnBtmRES5iVHOgAVOW0Ls3N+u45i2A/wxScSwEi++annQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQstAwQABQLzFAAABAAFBAAAEAAFBgAHAQIDBiSjNMjnAaIyRksIAD+heNHUFwOhUBXrDmughgEAAAAAAAAAAAA=	Ts3nH46TDtBos2Fe6ZEPmgCyQoaVWVsu1VQAvCMkbR5JNdqfgu6tLUJRMjU5rkB2TiePVXaRWroVb693n4cWCGw	781	2026-12-01T15:43:17.359488Z	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-12-01T15:43:17.256208Z	2026-12-01T15:43:17.359492Z	0	\N	\N	1796139797	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4CJT16YPYH2XRSMFMQ0ND	test	acct_04BJRQZP19CKR6JDNQ3AT84VWX	key_01M8S4BSJ9Q54T71H4T9REPZQF	BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5	0.100000	\N	01M8S4CJNZE3NWXR7NZ5MM3WGR-5	1	1796226197	907dacf207fa6413c8c4c95484eba9367641a74383f9dfe23dbc4101a8eb7d06	\N	\N	signed	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:32.352176Z	ASAiUJ0f0AjOKSnj5BPWgJBJ7eOX3O+hXzSvMN9IX8gVcmbDv1bn34iRpP+Qqd7bffsAsTfnTSrYTzngjfBckwQBAAQIQOQBb7bqe0stMVVh9RPEn6o7IVv3tAVBvpMkVhKiFhwOtxcz0TIo1KfrJhnbOl+ew+UHlL0QNM0XBIc33K0fHlk3wTopTSK1PbCnib0fACMFQp+KtwGNkVfsIjITcDS3oA3KZXR3T4/AVGWv8zPVSLaCJJPi/Euk96RaWkGT82ADBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKnBtmRES5iVHOgAVOW0Ls3N+u45i2A/wxScSwEi++annQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQstAwQABQIBFQAABAAFBAAAEAAFBgAHAQIDBiSjNMjnAaIyRktBN63oi7jNH0uCrRXrDmughgEAAAAAAAAAAAA=	eGF8aLeZBPPJde5V3zJ3cpxnK2LYd5Pahezix33aRhmhunNGk61TDEhvuGFRAzoc97z9YjWbUuubZfbcQWw19cw	781	\N	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-12-01T15:43:17.313152Z	2026-12-01T15:43:17.352176Z	0	\N	\N	1796139797	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4CJT5FK37AH3WW4450993	test	acct_04BJRQZP19CKR6JDNQ3AT84VWX	key_01M8S4BSJ9Q54T71H4T9REPZQF	BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5	0.100000	\N	01M8S4CJNZE3NWXR7NZ5MM3WGR-9	1	1796226197	907dacf207fa6413c8c4c95484eba9367641a74383f9dfe23dbc4101a8eb7d06	\N	\N	signed	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:32.354521Z	AbzHmgEQrZaOkMRhEP0AgPfWddp/TgfM3fHKLEyVR96p/qytwSP/5CKeOwPVfdD//cCMKnpZ/gc87y5SM14H4w8BAAQIQOQBb7bqe0stMVVh9RPEn6o7IVv3tAVBvpMkVhKiFhwOtxcz0TIo1KfrJhnbOl+ew+UHlL0QNM0XBIc33K0fHlk3wTopTSK1PbCnib0fACMFQp+KtwGNkVfsIjITcDS3oA3KZXR3T4/AVGWv8zPVSLaCJJPi/Euk96RaWkGT82ADBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKnBtmRES5iVHOgAVOW0Ls3N+u45i2A/wxScSwEi++annQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQstAwQABQICFQAABAAFBAAAEAAFBgAHAQIDBiSjNMjnAaIyRktFfMZ1RHzhCFAlIxXrDmughgEAAAAAAAAAAAA=	4munKGyWXEDjdKcvf4eTQA1xwmjk6ndxiqtTwytd8nML94r6JQB4YfxBMpcCzMahtrCzuqiMHA2xVuSQX7C672dc	781	\N	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-12-01T15:43:17.317134Z	2026-12-01T15:43:17.354521Z	0	\N	\N	1796139797	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4CJRKZPSGTEW64YKJEVN5	test	acct_04BJRQZP19CKR6JDNQ3AT84VWX	key_01M8S4BSJ9Q54T71H4T9REPZQF	BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5	0.100000	\N	01M8S4CJNZE3NWXR7NZ5MM3WGR-14	1	1796226197	907dacf207fa6413c8c4c95484eba9367641a74383f9dfe23dbc4101a8eb7d06	\N	\N	sent	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:32.325535Z	AZumsN2JQZ2HjtD8EJAZefCcOnZ1ZG9HUV+1Dmua1IqI/MDtxOFcoVM4nT+IyI+gIpjKEbBKOLZ1Lb+VFGuw9A0BAAQIQOQBb7bqe0stMVVh9RPEn6o7IVv3tAVBvpMkVhKiFhwOtxcz0TIo1KfrJhnbOl+ew+UHlL0QNM0XBIc33K0fHlk3wTopTSK1PbCnib0fACMFQp+KtwGNkVfsIjITcDS3oA3KZXR3T4/AVGWv8zPVSLaCJJPi/Euk96RaWkGT82ADBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKnBtmRES5iVHOgAVOW0Ls3N+u45i2A/wxScSwEi++annQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQstAwQABQL4FAAABAAFBAAAEAAFBgAHAQIDBiSjNMjnAaIyRksT/bMNO4YnpydupRXrDmughgEAAAAAAAAAAAA=	47VefjSCfCceNJ3gh7z7wYwwyyJvYbWrs8qEvhY8GGPz4uuL7EPVgDgDCe8gsrRbvFCFYV5P86cMeNaYQq46ggDJ	781	2026-12-01T15:43:17.394549Z	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-12-01T15:43:17.267597Z	2026-12-01T15:43:17.394575Z	0	\N	\N	1796139797	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4CJRHX049WAES4RMMV4Q2	test	acct_04BJRQZP19CKR6JDNQ3AT84VWX	key_01M8S4BSJ9Q54T71H4T9REPZQF	BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5	0.100000	\N	01M8S4CJNZE3NWXR7NZ5MM3WGR-1	1	1796226197	907dacf207fa6413c8c4c95484eba9367641a74383f9dfe23dbc4101a8eb7d06	\N	\N	sent	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:32.339159Z	AdV11GBpPZ6pd+5IoJHYJU6sB1fHsdZy90DQySHm2kzFxzKSba6HmK2GwJnlLK7ohplpTPR7N7KJwqYTyipDbg0BAAQIQOQBb7bqe0stMVVh9RPEn6o7IVv3tAVBvpMkVhKiFhwOtxcz0TIo1KfrJhnbOl+ew+UHlL0QNM0XBIc33K0fHlk3wTopTSK1PbCnib0fACMFQp+KtwGNkVfsIjITcDS3oA3KZXR3T4/AVGWv8zPVSLaCJJPi/Euk96RaWkGT82ADBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKnBtmRES5iVHOgAVOW0Ls3N+u45i2A/wxScSwEi++annQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQstAwQABQL+FAAABAAFBAAAEAAFBgAHAQIDBiSjNMjnAaIyRksR6AieKdkmKU2S4hXrDmughgEAAAAAAAAAAAA=	5GXj8AakEsgovvEQySqa7zbAfcR2SENHfBrXDkpUXgk667XVZDzoAiT65KoMuB4TXViwJErP3s2CYj7TQtNUZwVE	781	2026-12-01T15:43:17.405959Z	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-12-01T15:43:17.265086Z	2026-12-01T15:43:17.405969Z	0	\N	\N	1796139797	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4CJRT4T4JYQ04YV9X3ZYG	test	acct_04BJRQZP19CKR6JDNQ3AT84VWX	key_01M8S4BSJ9Q54T71H4T9REPZQF	BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5	0.100000	\N	01M8S4CJNZE3NWXR7NZ5MM3WGR-2	1	1796226197	907dacf207fa6413c8c4c95484eba9367641a74383f9dfe23dbc4101a8eb7d06	\N	\N	sent	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:32.330472Z	ASqBOE9sYLNjM5/9Swl/F2t1it7gRPJXm3jdkdjQ8qgfeerIfGs7VkdGWCkKMfu3VfgHLU9ahSeCBrKdp4epTAwBAAQIQOQBb7bqe0stMVVh9RPEn6o7IVv3tAVBvpMkVhKiFhwOtxcz0TIo1KfrJhnbOl+ew+UHlL0QNM0XBIc33K0fHlk3wTopTSK1PbCnib0fACMFQp+KtwGNkVfsIjITcDS3oA3KZXR3T4/AVGWv8zPVSLaCJJPi/Euk96RaWkGT82ADBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKnBtmRES5iVHOgAVOW0Ls3N+u45i2A/wxScSwEi++annQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQstAwQABQL6FAAABAAFBAAAEAAFBgAHAQIDBiSjNMjnAaIyRksaJokvXAT209H/0BXrDmughgEAAAAAAAAAAAA=	rHkRkyo2STuZWoJSvUwvsNPbxrdoy6M7hrMFnG87PLtrZDJf5KmhywjnbNbskCMGpCBES3b8BuG2EDARsqfgZt7	781	2026-12-01T15:43:17.415367Z	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-12-01T15:43:17.274235Z	2026-12-01T15:43:17.415374Z	0	\N	\N	1796139797	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4CJRH6ASVGPX32E24GKJW	test	acct_04BJRQZP19CKR6JDNQ3AT84VWX	key_01M8S4BSJ9Q54T71H4T9REPZQF	BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5	0.100000	\N	01M8S4CJNZE3NWXR7NZ5MM3WGR-13	1	1796226197	907dacf207fa6413c8c4c95484eba9367641a74383f9dfe23dbc4101a8eb7d06	\N	\N	sent	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:32.338977Z	AWLbz+fCbIM7MYPg5c9eDT+0xRs577UEAJZsmzC/b8Z1fYws28jNr1MEljELNwe+UrbC7mzSmCbIYFYZ2Z+LJA4BAAQIQOQBb7bqe0stMVVh9RPEn6o7IVv3tAVBvpMkVhKiFhwOtxcz0TIo1KfrJhnbOl+ew+UHlL0QNM0XBIc33K0fHlk3wTopTSK1PbCnib0fACMFQp+KtwGNkVfsIjITcDS3oA3KZXR3T4/AVGWv8zPVSLaCJJPi/Euk96RaWkGT82ADBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKnBtmRES5iVHOgAVOW0Ls3N+u45i2A/wxScSwEi++annQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQstAwQABQL9FAAABAAFBAAAEAAFBgAHAQIDBiSjNMjnAaIyRksRMrO4W6MThEhOXBXrDmughgEAAAAAAAAAAAA=	2ydx3G6JUqXKaV7rQ4DTBftxHZSNuDVpiwrxw6FiT9AGRRhPBiFgsD72ugD9mzGHKJXpvUe3D2xfV55SDfVKoeRT	781	2026-12-01T15:43:17.414094Z	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-12-01T15:43:17.265931Z	2026-12-01T15:43:17.414100Z	0	\N	\N	1796139797	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4CJRERA22KWR5QA5MHZVW	test	acct_04BJRQZP19CKR6JDNQ3AT84VWX	key_01M8S4BSJ9Q54T71H4T9REPZQF	BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5	0.100000	\N	01M8S4CJNZE3NWXR7NZ5MM3WGR-12	1	1796226197	907dacf207fa6413c8c4c95484eba9367641a74383f9dfe23dbc4101a8eb7d06	\N	\N	sent	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:32.320022Z	AYF+WNnL/aVNN1giCqO9joJrtRm+TOoSO9OhVspAajesm9NsUP9a39GfzptTgJX841AkstkldYrzmFLxWx+lcw8BAAQIQOQBb7bqe0stMVVh9RPEn6o7IVv3tAVBvpMkVhKiFhwOtxcz0TIo1KfrJhnbOl+ew+UHlL0QNM0XBIc33K0fHlk3wTopTSK1PbCnib0fACMFQp+KtwGNkVfsIjITcDS3oA3KZXR3T4/AVGWv8zPVSLaCJJPi/Euk96RaWkGT82ADBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKnBtmRES5iVHOgAVOW0Ls3N+u45i2A/wxScSwEi++annQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQstAwQABQL2FAAABAAFBAAAEAAFBgAHAQIDBiSjNMjnAaIyRksOwoQp8wW6i0j/fBXrDmughgEAAAAAAAAAAAA=	3bAN9oxVboFAAErdniCtAMjcHs6huUdPsbdmHrTxCpnZ22QxXA3mgowxNvkYvLtjbcNghB777XwN6VbBSXp3ABk2	781	2026-12-01T15:43:17.412888Z	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-12-01T15:43:17.262414Z	2026-12-01T15:43:17.412903Z	0	\N	\N	1796139797	\N	\N	\N	\N	\N
op_01M8S4BSHBNTDZFDSMQC65WM9R	txn_01M8S4CJS2KQQ1BEKNKW6BZQZA	test	acct_04BJRQZP19CKR6JDNQ3AT84VWX	key_01M8S4BSJ9Q54T71H4T9REPZQF	BmnRqDrUWoE1E2MwKAC3W1W2Q5wX8b3VN1qecvymsKj5	0.100000	\N	01M8S4CJNZE3NWXR7NZ5MM3WGR-0	1	1796226197	907dacf207fa6413c8c4c95484eba9367641a74383f9dfe23dbc4101a8eb7d06	\N	\N	sent	0fe7b6d9ab46110df14e2778c338bc33	2026-12-01T15:43:32.334307Z	AcM1gA7UH8s8vR+tc4AFq3bhInKUOgp6Y1zW2jB9+2mLhJEpCcTzHEIqZIAP4JmUkzMzx9I+sE5mB7LaIovBtA4BAAQIQOQBb7bqe0stMVVh9RPEn6o7IVv3tAVBvpMkVhKiFhwOtxcz0TIo1KfrJhnbOl+ew+UHlL0QNM0XBIc33K0fHlk3wTopTSK1PbCnib0fACMFQp+KtwGNkVfsIjITcDS3oA3KZXR3T4/AVGWv8zPVSLaCJJPi/Euk96RaWkGT82ADBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKnBtmRES5iVHOgAVOW0Ls3N+u45i2A/wxScSwEi++annQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQstAwQABQL7FAAABAAFBAAAEAAFBgAHAQIDBiSjNMjnAaIyRksine4VunWfDL/f6hXrDmughgEAAAAAAAAAAAA=	4uNCRo4uo35DDYRSCZkw955sVoNhopoqFNpqqrFePhL372yDNZnwNcTBJgZwr6fMgkkdUsPQSuFewReUDA7Gx5c9	781	2026-12-01T15:43:17.409430Z	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-12-01T15:43:17.282166Z	2026-12-01T15:43:17.409437Z	0	\N	\N	1796139797	\N	\N	\N	\N	\N
\.


--
-- Data for Name: walks; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.walks (network, address, until_signature, until_slot, under_way, top_signature, top_slot, before_signature) FROM stdin;
test	71GbWKcJecCWuU9aTaVGRqVF9uUUMShfkkHUuqukwjPt	\N	\N	f	\N	\N	\N
test	Dg6vFhJFQ7z8njnws9bEghBJUwzbYxruAprUB6vdTZnD	\N	\N	f	\N	\N	\N
test	Euy3ERtLTfNb973o8g8vqSHaQjuXLJUBMiVEx7NFrxZi	\N	\N	f	\N	\N	\N
test	E3Aze5ySQqxeDd2oKT44zKmuNqkhnZAWoZtsfbjsKuf2	5XzC6snxUdhFPEgatpD1JzGGMJKSMRAcHZRY59REfhr7E1qW2cw1E4vvZYv8PjD3hW82HcDTSh56EsBgykHnhdhU	293	f	\N	\N	\N
\.


--
-- Data for Name: webhooks; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.webhooks (webhook_id, operator_id, url, events, account_ids, threshold_usdc, status, disabled_reason, disabled_at, secret, previous_secret, previous_until, failures, failing_since, created_at, updated_at, watches_since) FROM stdin;
whk_01M8S4BT49YNVGAYVV382SMD3M	op_01M8S4BSHBNTDZFDSMQC65WM9R	http://127.0.0.1:9/low	["balance.low_threshold","limit.threshold"]	[]	6.000000	enabled	\N	\N	W+WCjCbKYC/tmN6HegcY826UGf8F32O0mXo9tBSTL3NU0o7RmrEVO0DqOgVZFCKHJP+H6cdZtiRf0JBkdwBHo0QWvL3vfw6mO4t630pv64ze3Z7ccMo1OznE	\N	\N	0	\N	2026-12-01T15:42:52.042016Z	2026-12-01T15:42:52.042016Z	2026-12-01T15:42:52.042016Z
whk_01M8S4BT411RSZJ2YWFR4E5KJY	op_01M8S4BSHBNTDZFDSMQC65WM9R	http://127.0.0.1:9/purser	["transfer.settled","policy.changed"]	[]	\N	enabled	\N	\N	Rjssq2VjfsugJs8kGH4NN0yFVExtRVEAtrj6JD0G89qRRPX27i6W4OFH1PgURiSxWxcNrQlKzBfxfPcKhyZBMozPERMltW4tLNkj4UmtIP/21FvK7WsoBc4P	\N	\N	3	2026-12-01T15:42:52.072031Z	2026-12-01T15:42:52.033117Z	2026-12-01T15:42:52.033117Z	2026-12-01T15:42:52.033117Z
\.


--
-- Name: _sqlx_migrations _sqlx_migrations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public._sqlx_migrations
    ADD CONSTRAINT _sqlx_migrations_pkey PRIMARY KEY (version);


--
-- Name: accounts accounts_operator_id_account_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_operator_id_account_id_key UNIQUE (operator_id, account_id);


--
-- Name: accounts accounts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (account_id);


--
-- Name: action_transactions action_transactions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.action_transactions
    ADD CONSTRAINT action_transactions_pkey PRIMARY KEY (tx_signature);


--
-- Name: actions actions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.actions
    ADD CONSTRAINT actions_pkey PRIMARY KEY (action_id);


--
-- Name: api_keys api_keys_key_hash_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_key_hash_key UNIQUE (key_hash);


--
-- Name: api_keys api_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (key_id);


--
-- Name: co_signatures co_signatures_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.co_signatures
    ADD CONSTRAINT co_signatures_pkey PRIMARY KEY (operator_id, transfer_id, number);


--
-- Name: deleted_webhooks deleted_webhooks_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deleted_webhooks
    ADD CONSTRAINT deleted_webhooks_pkey PRIMARY KEY (operator_id, webhook_id);


--
-- Name: deliveries deliveries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY (operator_id, webhook_id, event_id);


--
-- Name: delivery_attempts delivery_attempts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.delivery_attempts
    ADD CONSTRAINT delivery_attempts_pkey PRIMARY KEY (operator_id, webhook_id, event_id, attempt);


--
-- Name: denials denials_operator_id_transfer_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.denials
    ADD CONSTRAINT denials_operator_id_transfer_id_key UNIQUE (operator_id, transfer_id);


--
-- Name: denials denials_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.denials
    ADD CONSTRAINT denials_pkey PRIMARY KEY (operator_id, number);


--
-- Name: events events_check3; Type: CHECK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE public.events
    ADD CONSTRAINT events_check3 CHECK (((account_id IS NULL) = (event_type = ANY (ARRAY['webhook.test'::text, 'action.recorded'::text])))) NOT VALID;


--
-- Name: events events_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (operator_id, event_id);


--
-- Name: grants_opened grants_opened_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.grants_opened
    ADD CONSTRAINT grants_opened_pkey PRIMARY KEY (operator_id, grant_id, account_id, tx_signature);


--
-- Name: history history_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.history
    ADD CONSTRAINT history_pkey PRIMARY KEY (operator_id, entry_id);


--
-- Name: ledgers ledgers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ledgers
    ADD CONSTRAINT ledgers_pkey PRIMARY KEY (operator_id, account_id);


--
-- Name: marks marks_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.marks
    ADD CONSTRAINT marks_pkey PRIMARY KEY (name);


--
-- Name: operators operators_network_address_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.operators
    ADD CONSTRAINT operators_network_address_key UNIQUE (network, address);


--
-- Name: operators operators_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.operators
    ADD CONSTRAINT operators_pkey PRIMARY KEY (operator_id);


--
-- Name: passkeys passkeys_credential_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT passkeys_credential_id_key UNIQUE (credential_id);


--
-- Name: passkeys passkeys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT passkeys_pkey PRIMARY KEY (passkey_id);


--
-- Name: pending_fetches pending_fetches_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pending_fetches
    ADD CONSTRAINT pending_fetches_pkey PRIMARY KEY (network, tx_signature);


--
-- Name: pending_policies pending_policies_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pending_policies
    ADD CONSTRAINT pending_policies_pkey PRIMARY KEY (operator_id, account_id, hash);


--
-- Name: policy_askings policy_askings_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.policy_askings
    ADD CONSTRAINT policy_askings_pkey PRIMARY KEY (operator_id, account_id, done_by);


--
-- Name: policy_versions policy_versions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.policy_versions
    ADD CONSTRAINT policy_versions_pkey PRIMARY KEY (operator_id, account_id, version);


--
-- Name: requests requests_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.requests
    ADD CONSTRAINT requests_pkey PRIMARY KEY (operator_id, idempotency_key);


--
-- Name: sessions sessions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (token_hash);


--
-- Name: token_account_creations token_account_creations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.token_account_creations
    ADD CONSTRAINT token_account_creations_pkey PRIMARY KEY (operator_id, created_at, wallet, idempotency_key);


--
-- Name: transfers transfers_operator_id_idempotency_key_network_key_use_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.transfers
    ADD CONSTRAINT transfers_operator_id_idempotency_key_network_key_use_key UNIQUE (operator_id, idempotency_key, network, key_use);


--
-- Name: transfers transfers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.transfers
    ADD CONSTRAINT transfers_pkey PRIMARY KEY (operator_id, transfer_id);


--
-- Name: walks walks_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.walks
    ADD CONSTRAINT walks_pkey PRIMARY KEY (network, address);


--
-- Name: webhooks webhooks_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_pkey PRIMARY KEY (webhook_id);


--
-- Name: accounts_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX accounts_by_time ON public.accounts USING btree (operator_id, created_at, account_id);


--
-- Name: accounts_of_address; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX accounts_of_address ON public.accounts USING btree (address);


--
-- Name: accounts_of_status; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX accounts_of_status ON public.accounts USING btree (operator_id, status, created_at, account_id);


--
-- Name: accounts_of_token_account; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX accounts_of_token_account ON public.accounts USING btree (token_account, operator_id, account_id);


--
-- Name: accounts_requested; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX accounts_requested ON public.accounts USING btree (created_at) WHERE (provisioning = 'requested'::text);


--
-- Name: action_transactions_of_action; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX action_transactions_of_action ON public.action_transactions USING btree (action_id);


--
-- Name: actions_of_key; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX actions_of_key ON public.actions USING btree (operator_id, key_id, action_id);


--
-- Name: actions_of_made; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX actions_of_made ON public.actions USING btree (operator_id, made_id, action_id) WHERE (made_id IS NOT NULL);


--
-- Name: actions_of_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX actions_of_name ON public.actions USING btree (operator_id, name, action_id);


--
-- Name: actions_of_object; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX actions_of_object ON public.actions USING btree (operator_id, object_id, action_id);


--
-- Name: actions_of_operator; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX actions_of_operator ON public.actions USING btree (operator_id, action_id);


--
-- Name: actions_of_signature; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX actions_of_signature ON public.actions USING btree (operator_id, tx_signature) WHERE (tx_signature IS NOT NULL);


--
-- Name: api_keys_of_operator; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX api_keys_of_operator ON public.api_keys USING btree (operator_id, account_id, key_id);


--
-- Name: api_keys_unrevoked; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX api_keys_unrevoked ON public.api_keys USING btree (operator_id) WHERE (revoked_at IS NULL);


--
-- Name: attempts_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX attempts_by_time ON public.delivery_attempts USING btree (started_at);


--
-- Name: co_signatures_ended; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX co_signatures_ended ON public.co_signatures USING btree (created_at) WHERE (look_at IS NULL);


--
-- Name: co_signatures_of_day; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX co_signatures_of_day ON public.co_signatures USING btree (operator_id, created_at) WHERE (NOT is_unspent);


--
-- Name: co_signatures_open; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX co_signatures_open ON public.co_signatures USING btree (look_at) WHERE (look_at IS NOT NULL);


--
-- Name: deliveries_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX deliveries_due ON public.deliveries USING btree (operator_id, webhook_id, next_attempt_at) WHERE (state = 'pending'::text);


--
-- Name: deliveries_leased; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX deliveries_leased ON public.deliveries USING btree (lease_holder) WHERE (lease_holder IS NOT NULL);


--
-- Name: deliveries_next; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX deliveries_next ON public.deliveries USING btree (next_attempt_at) WHERE (state = 'pending'::text);


--
-- Name: deliveries_of_event; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX deliveries_of_event ON public.deliveries USING btree (event_id, operator_id);


--
-- Name: deliveries_of_state; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX deliveries_of_state ON public.deliveries USING btree (operator_id, webhook_id, state, event_id);


--
-- Name: events_in_stream; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX events_in_stream ON public.events USING btree (operator_id, place, event_id) WHERE (place IS NOT NULL);


--
-- Name: events_of_account_and_type; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX events_of_account_and_type ON public.events USING btree (operator_id, account_id, event_type, event_id);


--
-- Name: events_of_fact; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX events_of_fact ON public.events USING btree (operator_id, fact) WHERE (fact IS NOT NULL);


--
-- Name: events_of_step; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX events_of_step ON public.events USING btree (operator_id, transfer_id, event_type, COALESCE(fact, ''::text));


--
-- Name: events_of_type; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX events_of_type ON public.events USING btree (operator_id, event_type, event_id);


--
-- Name: history_of_kind; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX history_of_kind ON public.history USING btree (account_id, kind, status, "position");


--
-- Name: history_of_payee; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX history_of_payee ON public.history USING btree (account_id, counterparty, created_at, amount_usdc) WHERE ((kind = 'transfer'::text) AND (status = 'settled'::text));


--
-- Name: history_of_slots; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX history_of_slots ON public.history USING btree (network, slot, account_id) WHERE (slot IS NOT NULL);


--
-- Name: history_of_tag; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX history_of_tag ON public.history USING btree (account_id, tag) WHERE (tag IS NOT NULL);


--
-- Name: history_open; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX history_open ON public.history USING btree (network, slot) WHERE (NOT is_final);


--
-- Name: history_unplaced; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX history_unplaced ON public.history USING btree (account_id, "position") WHERE ("position" < '0'::text);


--
-- Name: ledgers_unexplained; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ledgers_unexplained ON public.ledgers USING btree (operator_id, account_id) WHERE (unexplained_micros <> 0);


--
-- Name: ledgers_unplaced; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ledgers_unplaced ON public.ledgers USING btree (operator_id, account_id) WHERE (placed_micros < 0);


--
-- Name: ledgers_wanted; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ledgers_wanted ON public.ledgers USING btree (operator_id, account_id) WHERE (payments_wanted > payments_up_to);


--
-- Name: passkeys_of_key; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX passkeys_of_key ON public.passkeys USING btree (key_id, created_at);


--
-- Name: pending_policies_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX pending_policies_due ON public.pending_policies USING btree (due_unix);


--
-- Name: policy_askings_of_version; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX policy_askings_of_version ON public.policy_askings USING btree (operator_id, account_id, version) WHERE (version IS NOT NULL);


--
-- Name: requests_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX requests_by_time ON public.requests USING btree (created_at);


--
-- Name: sessions_of_key; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_of_key ON public.sessions USING btree (key_id, started_at);


--
-- Name: sessions_of_passkey; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_of_passkey ON public.sessions USING btree (passkey_id) WHERE (passkey_id IS NOT NULL);


--
-- Name: sessions_started; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_started ON public.sessions USING btree (started_at);


--
-- Name: token_account_creations_old; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX token_account_creations_old ON public.token_account_creations USING btree (created_at);


--
-- Name: transfers_of_account; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX transfers_of_account ON public.transfers USING btree (operator_id, account_id, transfer_id);


--
-- Name: transfers_of_account_and_status; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX transfers_of_account_and_status ON public.transfers USING btree (operator_id, account_id, state, transfer_id) WHERE (ended_at IS NOT NULL);


--
-- Name: transfers_of_status; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX transfers_of_status ON public.transfers USING btree (operator_id, state, transfer_id) WHERE (ended_at IS NOT NULL);


--
-- Name: transfers_pending_approval; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX transfers_pending_approval ON public.transfers USING btree (operator_id, account_id) WHERE ((state = 'claimed'::text) AND (message IS NOT NULL));


--
-- Name: transfers_settled_elsewhere; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX transfers_settled_elsewhere ON public.transfers USING btree (operator_id, account_id, tx_signature) WHERE ((state = 'settled'::text) AND (signed_bytes IS NULL));


--
-- Name: transfers_spent; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX transfers_spent ON public.transfers USING btree (operator_id, ended_at, account_id, amount_usdc) WHERE (state = 'settled'::text);


--
-- Name: transfers_undenied; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX transfers_undenied ON public.transfers USING btree (ended_at, transfer_id) WHERE ((state = 'rejected'::text) AND (denial IS NULL));


--
-- Name: transfers_unfinished; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX transfers_unfinished ON public.transfers USING btree (network, lease_expires_at) WHERE (state = ANY (ARRAY['claimed'::text, 'signed'::text, 'sent'::text]));


--
-- Name: transfers_with_approval; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX transfers_with_approval ON public.transfers USING btree (operator_id, transfer_id) WHERE (approval_expires_at IS NOT NULL);


--
-- Name: walks_under_way; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX walks_under_way ON public.walks USING btree (network, address) WHERE under_way;


--
-- Name: webhooks_disabled; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX webhooks_disabled ON public.webhooks USING btree (webhook_id) WHERE (status = 'disabled'::text);


--
-- Name: webhooks_of_operator; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX webhooks_of_operator ON public.webhooks USING btree (operator_id, webhook_id);


--
-- Name: accounts accounts_operator_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES public.operators(operator_id);


--
-- Name: action_transactions action_transactions_operator_id_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.action_transactions
    ADD CONSTRAINT action_transactions_operator_id_account_id_fkey FOREIGN KEY (operator_id, account_id) REFERENCES public.accounts(operator_id, account_id);


--
-- Name: action_transactions action_transactions_operator_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.action_transactions
    ADD CONSTRAINT action_transactions_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES public.operators(operator_id);


--
-- Name: actions actions_key_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.actions
    ADD CONSTRAINT actions_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(key_id);


--
-- Name: actions actions_operator_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.actions
    ADD CONSTRAINT actions_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES public.operators(operator_id);


--
-- Name: api_keys api_keys_made_by_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_made_by_fkey FOREIGN KEY (made_by) REFERENCES public.api_keys(key_id);


--
-- Name: api_keys api_keys_operator_id_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_operator_id_account_id_fkey FOREIGN KEY (operator_id, account_id) REFERENCES public.accounts(operator_id, account_id);


--
-- Name: api_keys api_keys_operator_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES public.operators(operator_id);


--
-- Name: co_signatures co_signatures_operator_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.co_signatures
    ADD CONSTRAINT co_signatures_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES public.operators(operator_id);


--
-- Name: deliveries deliveries_operator_id_event_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_operator_id_event_id_fkey FOREIGN KEY (operator_id, event_id) REFERENCES public.events(operator_id, event_id);


--
-- Name: delivery_attempts delivery_attempts_operator_id_webhook_id_event_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.delivery_attempts
    ADD CONSTRAINT delivery_attempts_operator_id_webhook_id_event_id_fkey FOREIGN KEY (operator_id, webhook_id, event_id) REFERENCES public.deliveries(operator_id, webhook_id, event_id);


--
-- Name: denials denials_operator_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.denials
    ADD CONSTRAINT denials_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES public.operators(operator_id);


--
-- Name: events events_operator_id_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_operator_id_account_id_fkey FOREIGN KEY (operator_id, account_id) REFERENCES public.accounts(operator_id, account_id);


--
-- Name: events events_operator_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES public.operators(operator_id);


--
-- Name: events events_operator_id_transfer_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_operator_id_transfer_id_fkey FOREIGN KEY (operator_id, transfer_id) REFERENCES public.transfers(operator_id, transfer_id);


--
-- Name: grants_opened grants_opened_operator_id_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.grants_opened
    ADD CONSTRAINT grants_opened_operator_id_account_id_fkey FOREIGN KEY (operator_id, account_id) REFERENCES public.accounts(operator_id, account_id);


--
-- Name: history history_operator_id_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.history
    ADD CONSTRAINT history_operator_id_account_id_fkey FOREIGN KEY (operator_id, account_id) REFERENCES public.accounts(operator_id, account_id);


--
-- Name: ledgers ledgers_operator_id_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ledgers
    ADD CONSTRAINT ledgers_operator_id_account_id_fkey FOREIGN KEY (operator_id, account_id) REFERENCES public.accounts(operator_id, account_id);


--
-- Name: passkeys passkeys_key_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT passkeys_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(key_id);


--
-- Name: pending_policies pending_policies_operator_id_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pending_policies
    ADD CONSTRAINT pending_policies_operator_id_account_id_fkey FOREIGN KEY (operator_id, account_id) REFERENCES public.accounts(operator_id, account_id);


--
-- Name: policy_askings policy_askings_key_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.policy_askings
    ADD CONSTRAINT policy_askings_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(key_id);


--
-- Name: policy_askings policy_askings_operator_id_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.policy_askings
    ADD CONSTRAINT policy_askings_operator_id_account_id_fkey FOREIGN KEY (operator_id, account_id) REFERENCES public.accounts(operator_id, account_id);


--
-- Name: policy_versions policy_versions_operator_id_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.policy_versions
    ADD CONSTRAINT policy_versions_operator_id_account_id_fkey FOREIGN KEY (operator_id, account_id) REFERENCES public.accounts(operator_id, account_id);


--
-- Name: requests requests_key_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.requests
    ADD CONSTRAINT requests_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(key_id);


--
-- Name: requests requests_operator_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.requests
    ADD CONSTRAINT requests_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES public.operators(operator_id);


--
-- Name: sessions sessions_key_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(key_id);


--
-- Name: token_account_creations token_account_creations_operator_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.token_account_creations
    ADD CONSTRAINT token_account_creations_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES public.operators(operator_id);


--
-- Name: transfers transfers_key_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.transfers
    ADD CONSTRAINT transfers_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(key_id);


--
-- Name: transfers transfers_operator_id_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.transfers
    ADD CONSTRAINT transfers_operator_id_account_id_fkey FOREIGN KEY (operator_id, account_id) REFERENCES public.accounts(operator_id, account_id);


--
-- Name: webhooks webhooks_operator_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES public.operators(operator_id);


--
-- PostgreSQL database dump complete
--

\unrestrict fHbkqh2oxGd7AtrYM1RZDv1YKRXd9dhFZrIrS5sxHxgumqDL8DcVigh64jEHmwx

