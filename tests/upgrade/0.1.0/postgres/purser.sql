--
-- PostgreSQL database dump
--

\restrict dNqgokJizztgMYJWh4b0dVqWk2gQZzDGqmZgy64GiCCUA9D9ukerX1tEmqybhnJ

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
    CONSTRAINT accounts_created_at_check CHECK ((length(created_at) = 27)),
    CONSTRAINT accounts_duplicates_check CHECK ((duplicates = ANY (ARRAY['as_asked'::text, 'refused'::text, 'paid'::text]))),
    CONSTRAINT accounts_provisioning_check CHECK ((provisioning = ANY (ARRAY['requested'::text, 'ready'::text]))),
    CONSTRAINT accounts_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text])))
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
    CONSTRAINT api_keys_created_at_check CHECK ((length(created_at) = 27)),
    CONSTRAINT api_keys_expires_at_check CHECK ((length(expires_at) = 27)),
    CONSTRAINT api_keys_key_hash_check CHECK ((length(key_hash) = 64)),
    CONSTRAINT api_keys_last_used_at_check CHECK ((length(last_used_at) = 27)),
    CONSTRAINT api_keys_revoked_at_check CHECK ((length(revoked_at) = 27))
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
-- Name: denial_heads; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.denial_heads (
    operator_id text NOT NULL COLLATE public."binary",
    number bigint NOT NULL,
    tx_signature text COLLATE public."binary",
    next_at text NOT NULL COLLATE public."binary",
    CONSTRAINT denial_heads_next_at_check CHECK ((length(next_at) = 27))
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
-- Name: event_streams; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.event_streams (
    operator_id text NOT NULL COLLATE public."binary",
    last_place bigint NOT NULL
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
    CONSTRAINT events_check3 CHECK (((account_id IS NULL) = (event_type = 'webhook.test'::text))),
    CONSTRAINT events_created_at_check CHECK ((length(created_at) = 27))
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
-- Name: indexers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.indexers (
    network text NOT NULL COLLATE public."binary",
    holder text NOT NULL COLLATE public."binary",
    expires_at text NOT NULL COLLATE public."binary",
    CONSTRAINT indexers_expires_at_check CHECK ((length(expires_at) = 27)),
    CONSTRAINT indexers_network_check CHECK ((network = ANY (ARRAY['test'::text, 'live'::text])))
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
-- Name: limit_watches; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.limit_watches (
    operator_id text NOT NULL COLLATE public."binary",
    since text NOT NULL COLLATE public."binary",
    CONSTRAINT limit_watches_since_check CHECK ((length(since) = 27))
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
    CONSTRAINT operators_created_at_check CHECK ((length(created_at) = 27)),
    CONSTRAINT operators_network_check CHECK ((network = ANY (ARRAY['test'::text, 'live'::text])))
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
    reason text COLLATE public."binary"
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
-- Name: probes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.probes (
    probe text NOT NULL COLLATE public."binary",
    probed_at text NOT NULL COLLATE public."binary",
    CONSTRAINT probes_probed_at_check CHECK ((length(probed_at) = 27))
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
    CONSTRAINT sessions_started_at_check CHECK ((length(started_at) = 27)),
    CONSTRAINT sessions_token_hash_check CHECK ((length(token_hash) = 64)),
    CONSTRAINT sessions_used_at_check CHECK ((length(used_at) = 27))
);


--
-- Name: stops; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.stops (
    tx_signature text NOT NULL COLLATE public."binary",
    operator_id text NOT NULL COLLATE public."binary",
    account_id text COLLATE public."binary",
    is_pause boolean NOT NULL,
    landed_at text NOT NULL COLLATE public."binary",
    CONSTRAINT stops_check CHECK (((account_id IS NOT NULL) OR (NOT is_pause))),
    CONSTRAINT stops_landed_at_check CHECK ((length(landed_at) = 27))
);


--
-- Name: sweeps; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sweeps (
    network text NOT NULL COLLATE public."binary",
    began_at text NOT NULL COLLATE public."binary",
    CONSTRAINT sweeps_began_at_check CHECK ((length(began_at) = 27)),
    CONSTRAINT sweeps_network_check CHECK ((network = ANY (ARRAY['test'::text, 'live'::text])))
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
    CONSTRAINT transfers_retry_at_check CHECK ((length(retry_at) = 27)),
    CONSTRAINT transfers_sent_at_check CHECK ((length(sent_at) = 27)),
    CONSTRAINT transfers_state_check CHECK ((state = ANY (ARRAY['claimed'::text, 'signed'::text, 'sent'::text, 'settled'::text, 'rejected'::text, 'failed'::text]))),
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
-- Name: webhook_balances; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.webhook_balances (
    operator_id text NOT NULL COLLATE public."binary",
    webhook_id text NOT NULL COLLATE public."binary",
    account_id text NOT NULL COLLATE public."binary",
    balance_usdc text NOT NULL COLLATE public."binary",
    read_at text NOT NULL COLLATE public."binary",
    CONSTRAINT webhook_balances_read_at_check CHECK ((length(read_at) = 27))
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
    CONSTRAINT webhooks_updated_at_check CHECK ((length(updated_at) = 27))
);


--
-- Data for Name: _sqlx_migrations; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public._sqlx_migrations (version, description, installed_on, success, checksum, execution_time) FROM stdin;
1	operators accounts keys	2026-11-27 08:35:33.238902+00	t	\\x2bfee6806aaa601721f3de9f41a94d902abbb879205b7cc354586f8be9c1acade1e4e01671bf704db27da31ea705a3c5	23791109
2	transfers	2026-11-27 08:35:33.26356+00	t	\\xb9867b6d0db5f299e16e98ee0cf2d72e825c12b5e61c69b860df66d1e8f591d75188ecd70d61e9351bf2b3bafb44dec1	12135115
3	history	2026-11-27 08:35:33.276236+00	t	\\x83601d02939c0739db61143d30073255613cec96288af23086c68d5cba2394ec1f1972642da650831623ee810443a91d	22541244
4	events webhooks	2026-11-27 08:35:33.299536+00	t	\\x746bc929f6dea72c8d92f97b2d61866bb8c9752d587f759a6ac0b7904aa39215ff82d904c55c73aafd7ba17a5f4d19a5	30615768
5	policies	2026-11-27 08:35:33.330738+00	t	\\xa1cc0f5da69ebaefa37ae2b53935c39e618a6b2ea769a806e1b432dc6a8695f07fc0d272e55143335f4630d9f13f7a91	20789196
6	sessions	2026-11-27 08:35:33.352123+00	t	\\x8351de3926e3853a865801d6d67af08f68330b552e4862214e76dc689ce260adbcebf85ec965345b4fca1df0bff9cdb7	4996727
7	denials	2026-11-27 08:35:33.357522+00	t	\\x882040998bc8b9474a6938c5992ec11fbb17db23997e4ba5f41af67ca3a72d1341d9fbeab5599ec5cebb72130515d44e	7015055
\.


--
-- Data for Name: accounts; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.accounts (account_id, operator_id, name, metadata, address, token_account, status, duplicates, provisioning, created_at, allowlist_entries, is_closed) FROM stdin;
acct_0KD52HXQ7MEHGZM4EYT2V6EX95	op_01M8E2AGPH61DM3MZFGBJBP9XV	Ben	\N	Dom6v1M1YeiDRigUHWgubkobKa56tAfAkh2bUZzcETiJ	J1A4Eoxz5AuuwciJtZhwTtzLeoyC2WjxAohtGrC1hF29	active	as_asked	ready	2026-11-27T08:35:33.890196Z	0	f
acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	op_01M8E2AGPH61DM3MZFGBJBP9XV	Dana	\N	6eswEXZQSte3SNRyAvstDgoqygr8P2FcAfGuoT57XGaL	5LfHvdaXx5aFCRNP2ZNzX5dGCJbAT7Q1qKepRh9mA3e5	active	as_asked	ready	2026-11-27T08:35:33.960828Z	0	f
acct_0ZZW8ZCQNPY1QK7841SW5KX497	op_01M8E2AGPH61DM3MZFGBJBP9XV	Ada	\N	66mRGCHmfM4fGwX3cLg3Fqio79xvbDqMw5t7Fhcuw8Nj	95rNGyayAQDgPuAhbAm6J5RVnViUWyWh664pZuUPDjZR	active	as_asked	ready	2026-11-27T08:35:33.815163Z	1	f
acct_0CRVS0HX7D35KMFRX7AXKTMFSC	op_01M8E2AGPH61DM3MZFGBJBP9XV	Cleo	\N	DbRs65mSn5v3BSWMcUHnrabmVAvkSQygRJRJUeSeSKHp	HJKWwc6p7F32GszsHZs4mgjR7NiWDmLeyj9EhDXoLxDU	active	as_asked	ready	2026-11-27T08:35:34.639416Z	0	f
acct_565K05SX64K4HGWXXNQPJ3QNFD	op_01M8E2AGPH61DM3MZFGBJBP9XV	Eve	\N	AvexQb4fvZHCNH6jnfxX8EjTMkNBjmGZsDNcLv3AY3Ee	6XkxcGk2akp3FLokB7cK5NvfMDTLh1ixGafnRsb6UmHu	paused	as_asked	ready	2026-11-27T08:35:43.632219Z	0	f
\.


--
-- Data for Name: api_keys; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.api_keys (key_id, key_hash, operator_id, account_id, name, hint, created_at, expires_at, revoked_at, last_used_at, allowed_cidrs) FROM stdin;
key_01M8E2AGQSTRM0TWCZ27DGR90Z	c6c1f6e96adf54598eea817218d11ad8ddf1af6262da39072f07c3fe7d574bc3	op_01M8E2AGPH61DM3MZFGBJBP9XV	\N	\N	psr_op_test_...PyAs	2026-11-27T08:35:33.753888Z	\N	\N	\N	\N
key_01M8E2AGSB8XSK19CANYV5F9P2	889cbfdc47b8a8687684a7470ed448c25c833e85d6f3c1375736d96d6ee89964	op_01M8E2AGPH61DM3MZFGBJBP9XV	\N	\N	psr_op_test_...eeKD	2026-11-27T08:35:33.803302Z	\N	\N	\N	\N
key_01M8E2AH47BYQ2R8XG8Y7QAV5D	ab38ad94430881f989ed7c49cef9e52cd77fb35213ec04900fedf8a2e276d92c	op_01M8E2AGPH61DM3MZFGBJBP9XV	acct_0ZZW8ZCQNPY1QK7841SW5KX497	\N	psr_ag_test_...svmT	2026-11-27T08:35:34.151380Z	\N	\N	\N	\N
\.


--
-- Data for Name: deleted_webhooks; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deleted_webhooks (operator_id, webhook_id) FROM stdin;
op_01M8E2AGPH61DM3MZFGBJBP9XV	whk_01M8E2B9PT12A679ZK993D0NNF
\.


--
-- Data for Name: deliveries; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deliveries (operator_id, webhook_id, event_id, state, failures, next_attempt_at, ended_at, attempts, lease_holder, lease_expires_at, created_at) FROM stdin;
op_01M8E2AGPH61DM3MZFGBJBP9XV	whk_01M8E2AH9VR0ZHG7069D43QR1D	evt_01M8E2AHDRB076BZKD20ZNCZPM	pending	1	2026-11-27T08:36:04.480513Z	\N	1	\N	\N	2026-11-27T08:35:34.456352Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	whk_01M8E2AH9VR0ZHG7069D43QR1D	evt_01M8E2AHE556TP6THVZ2D0NJ27	pending	1	2026-11-27T08:36:04.500142Z	\N	1	\N	\N	2026-11-27T08:35:34.469166Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	whk_01M8E2AH9VR0ZHG7069D43QR1D	evt_01M8E2AHD6724Z4NK2AT5SGCBT	pending	1	2026-11-27T08:36:04.549719Z	\N	1	\N	\N	2026-11-27T08:35:34.438226Z
\.


--
-- Data for Name: delivery_attempts; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.delivery_attempts (operator_id, webhook_id, event_id, attempt, started_at, ended_at, status_code, body, unanswered) FROM stdin;
op_01M8E2AGPH61DM3MZFGBJBP9XV	whk_01M8E2AH9VR0ZHG7069D43QR1D	evt_01M8E2AHDRB076BZKD20ZNCZPM	1	2026-11-27T08:35:34.480024Z	2026-11-27T08:35:34.480513Z	\N	\N	connection_failed
op_01M8E2AGPH61DM3MZFGBJBP9XV	whk_01M8E2AH9VR0ZHG7069D43QR1D	evt_01M8E2AHE556TP6THVZ2D0NJ27	1	2026-11-27T08:35:34.499560Z	2026-11-27T08:35:34.500142Z	\N	\N	connection_failed
op_01M8E2AGPH61DM3MZFGBJBP9XV	whk_01M8E2AH9VR0ZHG7069D43QR1D	evt_01M8E2AHD6724Z4NK2AT5SGCBT	1	2026-11-27T08:35:34.549208Z	2026-11-27T08:35:34.549719Z	\N	\N	connection_failed
\.


--
-- Data for Name: denial_heads; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.denial_heads (operator_id, number, tx_signature, next_at) FROM stdin;
op_01M8E2AGPH61DM3MZFGBJBP9XV	2	2oqwd1TBjwi24dSSjsrEPTbFuwRkBJYuqAYwsovpara97yCjhMY6qRWF1fQbjwz99fBYDuhmqGPFeTnpaX4bo7m5	2026-11-28T08:35:43.512861Z
\.


--
-- Data for Name: denials; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.denials (operator_id, number, transfer_id, document, signature) FROM stdin;
op_01M8E2AGPH61DM3MZFGBJBP9XV	1	txn_01M8E2AHGEQYFS9PFR4XSWP3XA	{"account":"66mRGCHmfM4fGwX3cLg3Fqio79xvbDqMw5t7Fhcuw8Nj","account_id":"acct_0ZZW8ZCQNPY1QK7841SW5KX497","amount_micro_usdc":"11000000","checks":[{"limit_micro_usdc":null,"ok":true,"rule":"paused","used_micro_usdc":"0"},{"limit_micro_usdc":null,"ok":true,"rule":"require_memo","used_micro_usdc":"0"},{"limit_micro_usdc":null,"ok":true,"rule":"allowed_counterparties","used_micro_usdc":"0"},{"limit_micro_usdc":"10000000","ok":false,"rule":"max_single_transfer","used_micro_usdc":"0"},{"limit_micro_usdc":null,"ok":true,"rule":"max_daily_spend","used_micro_usdc":"1500000"},{"limit_micro_usdc":"48500000","ok":true,"rule":"balance","used_micro_usdc":"0"}],"key":"2dYyL3eXv1ySxNzAviAPmzV524mxpzmhXVpRKZvsG9TF","message":"The amount 11.000000 exceeds max_single_transfer, which is 10.000000.","network":"test","number":1,"operator":"SRXVffxfm1oNmFY38DF6rTVuRNm4Rdq4AfxEP76p3G5","operator_id":"op_01M8E2AGPH61DM3MZFGBJBP9XV","policy_version":3,"previous_sha256":"0000000000000000000000000000000000000000000000000000000000000000","previous_transfer_id":null,"reason":"single_limit_exceeded","rejected_at":"2026-11-27T08:35:34.577928Z","requested_at":"2026-11-27T08:35:34.542808Z","to":"acct_0KD52HXQ7MEHGZM4EYT2V6EX95","transfer_id":"txn_01M8E2AHGEQYFS9PFR4XSWP3XA","version":1}	2cdE8Ro5uNzBzLNeafxNTdnsS2LF4D9MqvpNTc7xJHGCWLRRK4Gv2vqHf6HztQMVsjj2uupaGst3tbAkMZvSV8TQ
op_01M8E2AGPH61DM3MZFGBJBP9XV	2	txn_01M8E2AHJ4DR4GHZAB9RN6B5PG	{"account":"66mRGCHmfM4fGwX3cLg3Fqio79xvbDqMw5t7Fhcuw8Nj","account_id":"acct_0ZZW8ZCQNPY1QK7841SW5KX497","amount_micro_usdc":"2000000","checks":[{"limit_micro_usdc":null,"ok":true,"rule":"paused","used_micro_usdc":"0"},{"limit_micro_usdc":null,"ok":true,"rule":"require_memo","used_micro_usdc":"0"},{"limit_micro_usdc":null,"ok":false,"rule":"allowed_counterparties","used_micro_usdc":"0"},{"limit_micro_usdc":"10000000","ok":true,"rule":"max_single_transfer","used_micro_usdc":"0"},{"limit_micro_usdc":null,"ok":true,"rule":"max_daily_spend","used_micro_usdc":"1500000"},{"limit_micro_usdc":"48500000","ok":true,"rule":"balance","used_micro_usdc":"0"}],"key":"2dYyL3eXv1ySxNzAviAPmzV524mxpzmhXVpRKZvsG9TF","message":"The recipient is not among the account's allowed_counterparties.","network":"test","number":2,"operator":"SRXVffxfm1oNmFY38DF6rTVuRNm4Rdq4AfxEP76p3G5","operator_id":"op_01M8E2AGPH61DM3MZFGBJBP9XV","policy_version":3,"previous_sha256":"da78db29be269cfd6a8e981261386280869fe4f056edc53aa1bc9f9e1b74b21c","previous_transfer_id":"txn_01M8E2AHGEQYFS9PFR4XSWP3XA","reason":"recipient_not_allowed","rejected_at":"2026-11-27T08:35:34.606501Z","requested_at":"2026-11-27T08:35:34.596201Z","to":"9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG","transfer_id":"txn_01M8E2AHJ4DR4GHZAB9RN6B5PG","version":1}	46GB7jmdVumDWp6xBXVp9ownwSiCgL46WbBYLgcrHzr1qne6Z7xkmw9Tnzv7SdMjtED88cca5AS9SSGa7DA8N1HA
\.


--
-- Data for Name: event_streams; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.event_streams (operator_id, last_place) FROM stdin;
op_01M8E2AGPH61DM3MZFGBJBP9XV	1
\.


--
-- Data for Name: events; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.events (operator_id, event_id, event_type, account_id, transfer_id, threshold_usdc, webhook_id, data, created_at, fact, place) FROM stdin;
op_01M8E2AGPH61DM3MZFGBJBP9XV	evt_01M8E2AH5APCFDAZ68GM85ZGYQ	deposit.settled	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	\N	\N	\N	{"account_id":"acct_5FHHTX1A1QNWWWRP7JHGHKD1TC","entry_id":"ent_50RKE97G85EVTVFYZDQ0PBEYT7","amount_usdc":"20.000000","from":null,"memo":null,"transfer_id":null,"tx_signature":"4eaCZtBhNgd2oWzsysX8uX4QrUAmwHiwnYQn3sXPx2mZciCRjXeRoiZdQZx9qNFgmjCMatsouBeFJbPE7uSKV4a6","settled_at":"2026-11-27T08:35:34.000000Z"}	2026-11-27T08:35:34.186716Z	deposit.settled|ent_50RKE97G85EVTVFYZDQ0PBEYT7	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	evt_01M8E2AH5N4PTHBKZ2ETFJH122	deposit.settled	acct_0ZZW8ZCQNPY1QK7841SW5KX497	\N	\N	\N	{"account_id":"acct_0ZZW8ZCQNPY1QK7841SW5KX497","entry_id":"ent_6TGF68NM8A3VVHTJKKQ009A5VJ","amount_usdc":"50.000000","from":null,"memo":null,"transfer_id":null,"tx_signature":"5MENSgVHyENHbKTjN4Roo35YvS9w4S742ScJjVUHfyf2f58hFUz3o8vVLvPcfZnPDmrW1RkCzXXfbnsKebjr4EFz","settled_at":"2026-11-27T08:35:33.000000Z"}	2026-11-27T08:35:34.197150Z	deposit.settled|ent_6TGF68NM8A3VVHTJKKQ009A5VJ	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	evt_01M8E2AHC56JA93CR1N1JZDVN8	transfer.initiated	acct_0ZZW8ZCQNPY1QK7841SW5KX497	txn_01M8E2AHACDT4XHNXQZB0D9KWA	\N	\N	{"transfer_id":"txn_01M8E2AHACDT4XHNXQZB0D9KWA","account_id":"acct_0ZZW8ZCQNPY1QK7841SW5KX497","to":"acct_0KD52HXQ7MEHGZM4EYT2V6EX95","amount_usdc":"1.500000","memo":"settled","tx_signature":"4TAEMh8c6fN6wFpvRcHjd6EK6bovb7L87aSFbvQwNr62amFdn4U6hMMJVGJqLVnomV81yhHkWQZWNuiEPTwxQ9ae"}	2026-11-27T08:35:34.405210Z	\N	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	evt_01M8E2AHDRB076BZKD20ZNCZPM	policy.changed	acct_0ZZW8ZCQNPY1QK7841SW5KX497	\N	\N	\N	{"account_id":"acct_0ZZW8ZCQNPY1QK7841SW5KX497","before":{"version":1,"policy":{"max_single_transfer":null,"max_daily_spend":null,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}},"after":{"version":2,"policy":{"max_single_transfer":10,"max_daily_spend":40,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}},"signer":"EvohitDjgLsnzTW63zfNfCuFupPydm2fGFEjsxECmgzr","tx_signature":"5KKWAT58e61ULerNkCirQ1cmqjggdr2nV9aB7ZbWnhP6GBWVxHmdYtGqRHTbm6Vds7wEZaLz2oxea9mZHtyrjGsx","changed_at":"2026-11-27T08:35:34.000000Z"}	2026-11-27T08:35:34.456352Z	policy.changed|5KKWAT58e61ULerNkCirQ1cmqjggdr2nV9aB7ZbWnhP6GBWVxHmdYtGqRHTbm6Vds7wEZaLz2oxea9mZHtyrjGsx|acct_0ZZW8ZCQNPY1QK7841SW5KX497|2	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	evt_01M8E2AHE556TP6THVZ2D0NJ27	policy.changed	acct_0ZZW8ZCQNPY1QK7841SW5KX497	\N	\N	\N	{"account_id":"acct_0ZZW8ZCQNPY1QK7841SW5KX497","before":{"version":2,"policy":{"max_single_transfer":10,"max_daily_spend":40,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}},"after":{"version":3,"policy":{"max_single_transfer":10,"max_daily_spend":null,"allowed_counterparties":["Dom6v1M1YeiDRigUHWgubkobKa56tAfAkh2bUZzcETiJ"],"counterparty_kinds":["wallet"],"require_memo":true,"paused":false}},"signer":"EvohitDjgLsnzTW63zfNfCuFupPydm2fGFEjsxECmgzr","tx_signature":"FaRwwqrKgaWSURAtwGvqgs4e23NmSFHiJPrJthK4CgrHMrn1iAYujW4ki7Rury68tzRiNp9fQMpJPwPqVy4XwCS","changed_at":"2026-11-27T08:35:34.000000Z"}	2026-11-27T08:35:34.469166Z	policy.changed|FaRwwqrKgaWSURAtwGvqgs4e23NmSFHiJPrJthK4CgrHMrn1iAYujW4ki7Rury68tzRiNp9fQMpJPwPqVy4XwCS|acct_0ZZW8ZCQNPY1QK7841SW5KX497|3	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	evt_01M8E2AHD6724Z4NK2AT5SGCBT	transfer.settled	acct_0ZZW8ZCQNPY1QK7841SW5KX497	txn_01M8E2AHACDT4XHNXQZB0D9KWA	\N	\N	{"transfer_id":"txn_01M8E2AHACDT4XHNXQZB0D9KWA","account_id":"acct_0ZZW8ZCQNPY1QK7841SW5KX497","to":"acct_0KD52HXQ7MEHGZM4EYT2V6EX95","amount_usdc":"1.500000","memo":"settled","idempotency_key":"01M8E2AHA8W6TEMNBCMGCQ3CRN","tx_signature":"4TAEMh8c6fN6wFpvRcHjd6EK6bovb7L87aSFbvQwNr62amFdn4U6hMMJVGJqLVnomV81yhHkWQZWNuiEPTwxQ9ae","settled_at":"2026-11-27T08:35:34.349000Z"}	2026-11-27T08:35:34.438226Z	\N	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	evt_01M8E2AHD6722TEE6WZ5P2H4RV	deposit.settled	acct_0KD52HXQ7MEHGZM4EYT2V6EX95	\N	\N	\N	{"account_id":"acct_0KD52HXQ7MEHGZM4EYT2V6EX95","entry_id":"ent_0XZJ711WWJFY4BKQYW64B085VB","amount_usdc":"1.500000","from":"95rNGyayAQDgPuAhbAm6J5RVnViUWyWh664pZuUPDjZR","memo":"settled","transfer_id":"txn_01M8E2AHACDT4XHNXQZB0D9KWA","tx_signature":"4TAEMh8c6fN6wFpvRcHjd6EK6bovb7L87aSFbvQwNr62amFdn4U6hMMJVGJqLVnomV81yhHkWQZWNuiEPTwxQ9ae","settled_at":"2026-11-27T08:35:34.349000Z"}	2026-11-27T08:35:34.438226Z	deposit.settled|ent_0XZJ711WWJFY4BKQYW64B085VB	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	evt_01M8E2AHHKHYY4X6K89DM3BQG5	transfer.rejected	acct_0ZZW8ZCQNPY1QK7841SW5KX497	txn_01M8E2AHGEQYFS9PFR4XSWP3XA	\N	\N	{"account_id":"acct_0ZZW8ZCQNPY1QK7841SW5KX497","rejection_reason":"single_limit_exceeded","transfer_id":"txn_01M8E2AHGEQYFS9PFR4XSWP3XA","to":"acct_0KD52HXQ7MEHGZM4EYT2V6EX95","amount_usdc":"11.000000","message":"The amount 11.000000 exceeds max_single_transfer, which is 10.000000."}	2026-11-27T08:35:34.579574Z	\N	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	evt_01M8E2AHJGGCTK1RVBK51WR84W	transfer.rejected	acct_0ZZW8ZCQNPY1QK7841SW5KX497	txn_01M8E2AHJ4DR4GHZAB9RN6B5PG	\N	\N	{"account_id":"acct_0ZZW8ZCQNPY1QK7841SW5KX497","rejection_reason":"recipient_not_allowed","transfer_id":"txn_01M8E2AHJ4DR4GHZAB9RN6B5PG","to":"9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG","amount_usdc":"2.000000","message":"The recipient is not among the account's allowed_counterparties."}	2026-11-27T08:35:34.608524Z	\N	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	evt_01M8E2AHRQCNSXPRF37R5KW672	deposit.settled	acct_0KD52HXQ7MEHGZM4EYT2V6EX95	\N	\N	\N	{"account_id":"acct_0KD52HXQ7MEHGZM4EYT2V6EX95","entry_id":"ent_2GJ1CEB5NKWYGBG25WPKWXX7MD","amount_usdc":"2.000000","from":"95rNGyayAQDgPuAhbAm6J5RVnViUWyWh664pZuUPDjZR","memo":null,"transfer_id":null,"tx_signature":"3eRnCkrSA6w6d1CWhY44DWxnhQ8b4VvjZqHT7HJjcdHTe7gHiG831N97PPKpAywTjBmcSERDFNG1NqkeDvYhfhnh","settled_at":"2026-11-27T08:35:34.000000Z"}	2026-11-27T08:35:34.807405Z	deposit.settled|ent_2GJ1CEB5NKWYGBG25WPKWXX7MD	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	evt_01M8E2AHRQCNHVT07XNMNX189K	withdrawal.settled	acct_0ZZW8ZCQNPY1QK7841SW5KX497	\N	\N	\N	{"account_id":"acct_0ZZW8ZCQNPY1QK7841SW5KX497","entry_id":"ent_1ZS9K6QACYC93W2T9E15V8VBJC","amount_usdc":"2.000000","to":"J1A4Eoxz5AuuwciJtZhwTtzLeoyC2WjxAohtGrC1hF29","tx_signature":"3eRnCkrSA6w6d1CWhY44DWxnhQ8b4VvjZqHT7HJjcdHTe7gHiG831N97PPKpAywTjBmcSERDFNG1NqkeDvYhfhnh","settled_at":"2026-11-27T08:35:34.000000Z"}	2026-11-27T08:35:34.807405Z	withdrawal.settled|ent_1ZS9K6QACYC93W2T9E15V8VBJC	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	evt_01M8E2AK4TZ6SRHKQ1WC50WHWG	policy.pending	acct_0ZZW8ZCQNPY1QK7841SW5KX497	\N	\N	\N	{"account_id":"acct_0ZZW8ZCQNPY1QK7841SW5KX497","policy":{"max_single_transfer":50,"max_daily_spend":null,"allowed_counterparties":["Dom6v1M1YeiDRigUHWgubkobKa56tAfAkh2bUZzcETiJ"],"counterparty_kinds":["wallet"],"require_memo":true,"paused":false},"effective_at":"2026-11-28T08:35:36.000000Z","signer":"EvohitDjgLsnzTW63zfNfCuFupPydm2fGFEjsxECmgzr"}	2026-11-27T08:35:36.218998Z	\N	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	evt_01M8E2B9V4F23HTV22N02HPH9K	transfer.initiated	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	txn_01M8E2B9SJ9S52PV0BTPYHXZTC	\N	\N	{"transfer_id":"txn_01M8E2B9SJ9S52PV0BTPYHXZTC","account_id":"acct_5FHHTX1A1QNWWWRP7JHGHKD1TC","to":"9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG","amount_usdc":"3.000000","memo":"01M8E2B9SC6AE2FCJ96Z1KY44T","tx_signature":"3cnmTQQ6C5AHRS5XKnM4FmQkDHytGnJQPV2pNCuP5PNHnjzQ3LZjuzbiAZEPNtmJYZQnKr1rG4hqXoMR1xMhm7M9"}	2026-11-27T08:35:59.460482Z	\N	1
\.


--
-- Data for Name: history; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.history (operator_id, entry_id, account_id, network, kind, status, amount_usdc, counterparty, memo, transfer_id, tx_signature, slot, reason, message, is_final, created_at, "position", number, tag, read_at, spent_micros, policy_version) FROM stdin;
op_01M8E2AGPH61DM3MZFGBJBP9XV	ent_01M8E2AHGEQYFS9PFR4XSWP3XA	acct_0ZZW8ZCQNPY1QK7841SW5KX497	test	transfer	rejected	11.000000	acct_0KD52HXQ7MEHGZM4EYT2V6EX95	rejected	txn_01M8E2AHGEQYFS9PFR4XSWP3XA	\N	\N	single_limit_exceeded	The amount 11.000000 exceeds max_single_transfer, which is 10.000000.	t	2026-11-27T08:35:34.577928Z	2026-11-27T08:35:34.577928Z	\N	\N	\N	\N	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	ent_01M8E2AHJ4DR4GHZAB9RN6B5PG	acct_0ZZW8ZCQNPY1QK7841SW5KX497	test	transfer	rejected	2.000000	9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG	rejected for its payee	txn_01M8E2AHJ4DR4GHZAB9RN6B5PG	\N	\N	recipient_not_allowed	The recipient is not among the account's allowed_counterparties.	t	2026-11-27T08:35:34.606501Z	2026-11-27T08:35:34.606501Z	\N	\N	\N	\N	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	ent_6TGF68NM8A3VVHTJKKQ009A5VJ	acct_0ZZW8ZCQNPY1QK7841SW5KX497	test	deposit	settled	50.000000	\N	\N	\N	5MENSgVHyENHbKTjN4Roo35YvS9w4S742ScJjVUHfyf2f58hFUz3o8vVLvPcfZnPDmrW1RkCzXXfbnsKebjr4EFz	51	\N	\N	t	2026-11-27T08:35:33.000000Z	2026-11-27T08:35:34.197150Z	\N	\N	\N	\N	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	ent_50RKE97G85EVTVFYZDQ0PBEYT7	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	test	deposit	settled	20.000000	\N	\N	\N	4eaCZtBhNgd2oWzsysX8uX4QrUAmwHiwnYQn3sXPx2mZciCRjXeRoiZdQZx9qNFgmjCMatsouBeFJbPE7uSKV4a6	53	\N	\N	t	2026-11-27T08:35:34.000000Z	2026-11-27T08:35:34.186716Z	\N	\N	\N	\N	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	ent_0XZJ711WWJFY4BKQYW64B085VB	acct_0KD52HXQ7MEHGZM4EYT2V6EX95	test	deposit	settled	1.500000	95rNGyayAQDgPuAhbAm6J5RVnViUWyWh664pZuUPDjZR	settled	txn_01M8E2AHACDT4XHNXQZB0D9KWA	4TAEMh8c6fN6wFpvRcHjd6EK6bovb7L87aSFbvQwNr62amFdn4U6hMMJVGJqLVnomV81yhHkWQZWNuiEPTwxQ9ae	60	\N	\N	t	2026-11-27T08:35:34.349000Z	2026-11-27T08:35:34.438226Z	\N	\N	\N	\N	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	ent_17CPND71EAQWXJNAWGJ9GQDXDR	acct_0ZZW8ZCQNPY1QK7841SW5KX497	test	transfer	settled	1.500000	J1A4Eoxz5AuuwciJtZhwTtzLeoyC2WjxAohtGrC1hF29	settled	txn_01M8E2AHACDT4XHNXQZB0D9KWA	4TAEMh8c6fN6wFpvRcHjd6EK6bovb7L87aSFbvQwNr62amFdn4U6hMMJVGJqLVnomV81yhHkWQZWNuiEPTwxQ9ae	60	\N	\N	t	2026-11-27T08:35:34.349000Z	2026-11-27T08:35:34.438226Z	1	8acfd4c0fab7d7d8	2026-11-27T08:35:34.438226Z	1500000	3
op_01M8E2AGPH61DM3MZFGBJBP9XV	ent_2GJ1CEB5NKWYGBG25WPKWXX7MD	acct_0KD52HXQ7MEHGZM4EYT2V6EX95	test	deposit	settled	2.000000	95rNGyayAQDgPuAhbAm6J5RVnViUWyWh664pZuUPDjZR	\N	\N	3eRnCkrSA6w6d1CWhY44DWxnhQ8b4VvjZqHT7HJjcdHTe7gHiG831N97PPKpAywTjBmcSERDFNG1NqkeDvYhfhnh	68	\N	\N	t	2026-11-27T08:35:34.000000Z	2026-11-27T08:35:34.807405Z	\N	\N	\N	\N	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	ent_1ZS9K6QACYC93W2T9E15V8VBJC	acct_0ZZW8ZCQNPY1QK7841SW5KX497	test	withdrawal	settled	2.000000	J1A4Eoxz5AuuwciJtZhwTtzLeoyC2WjxAohtGrC1hF29	\N	\N	3eRnCkrSA6w6d1CWhY44DWxnhQ8b4VvjZqHT7HJjcdHTe7gHiG831N97PPKpAywTjBmcSERDFNG1NqkeDvYhfhnh	68	\N	\N	t	2026-11-27T08:35:34.000000Z	2026-11-27T08:35:34.807405Z	\N	\N	\N	\N	\N
\.


--
-- Data for Name: indexers; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.indexers (network, holder, expires_at) FROM stdin;
test	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:36:10.119195Z
\.


--
-- Data for Name: ledgers; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.ledgers (operator_id, account_id, booked_micros, unexplained_micros, seen_micros, seen_slot, payments_up_to, payments_beyond, payments_unnumbered, payments_wanted, placed_micros, newest_slot) FROM stdin;
op_01M8E2AGPH61DM3MZFGBJBP9XV	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	20000000	0	20000000	53	0		0	0	1795768534186716	53
op_01M8E2AGPH61DM3MZFGBJBP9XV	acct_0KD52HXQ7MEHGZM4EYT2V6EX95	3500000	0	3500000	70	0		0	0	1795768534807405	68
op_01M8E2AGPH61DM3MZFGBJBP9XV	acct_0ZZW8ZCQNPY1QK7841SW5KX497	46500000	0	46500000	70	1		0	0	1795768534807405	68
op_01M8E2AGPH61DM3MZFGBJBP9XV	acct_565K05SX64K4HGWXXNQPJ3QNFD	0	1000000	1000000	293	0		0	0	0	0
\.


--
-- Data for Name: limit_watches; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.limit_watches (operator_id, since) FROM stdin;
op_01M8E2AGPH61DM3MZFGBJBP9XV	2026-11-27T08:30:34.338331Z
\.


--
-- Data for Name: operators; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.operators (operator_id, network, name, address, created_at) FROM stdin;
op_01M8E2AGPH61DM3MZFGBJBP9XV	test	Operator 0	SRXVffxfm1oNmFY38DF6rTVuRNm4Rdq4AfxEP76p3G5	2026-11-27T08:35:33.713193Z
\.


--
-- Data for Name: pending_fetches; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.pending_fetches (network, tx_signature, slot, tries, next_try_at) FROM stdin;
test	3wvg6YtpeXeu8bGb4z3SQfnmUd5rACUgkinrtCCLLwy51fdmVJefUf5yE956K9qqFCa2huywHCVsGFdmeEpce8JW	292	5	2026-11-27T08:36:15.301781Z
test	2F2CeWCjrfB8BjXjcoUe4LjoswfWVkkT4hM9CEngfKXW9Mi58Nzc9K92kM6bAVNtkAeH23c3UkVf9uxpByvtuhTG	293	5	2026-11-27T08:36:15.304982Z
\.


--
-- Data for Name: pending_policies; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.pending_policies (operator_id, account_id, hash, expected_version, allowlist_entries, due_unix, is_announced, created_at, sealed_by) FROM stdin;
op_01M8E2AGPH61DM3MZFGBJBP9XV	acct_0ZZW8ZCQNPY1QK7841SW5KX497	6799fe961e66e7279fd2476e0efdd1a852531d5cf2cd0c257eddb6c3c299d8d8	3	1	1795854936	t	2026-11-27T08:35:36.094523Z	\N
\.


--
-- Data for Name: policy_askings; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.policy_askings (operator_id, account_id, done_by, version, key_id, reason) FROM stdin;
op_01M8E2AGPH61DM3MZFGBJBP9XV	acct_0ZZW8ZCQNPY1QK7841SW5KX497	5KKWAT58e61ULerNkCirQ1cmqjggdr2nV9aB7ZbWnhP6GBWVxHmdYtGqRHTbm6Vds7wEZaLz2oxea9mZHtyrjGsx	\N	key_01M8E2AGQSTRM0TWCZ27DGR90Z	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	acct_0ZZW8ZCQNPY1QK7841SW5KX497	FaRwwqrKgaWSURAtwGvqgs4e23NmSFHiJPrJthK4CgrHMrn1iAYujW4ki7Rury68tzRiNp9fQMpJPwPqVy4XwCS	\N	key_01M8E2AGQSTRM0TWCZ27DGR90Z	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	acct_0ZZW8ZCQNPY1QK7841SW5KX497	6799fe961e66e7279fd2476e0efdd1a852531d5cf2cd0c257eddb6c3c299d8d8	\N	key_01M8E2AGQSTRM0TWCZ27DGR90Z	\N
op_01M8E2AGPH61DM3MZFGBJBP9XV	acct_565K05SX64K4HGWXXNQPJ3QNFD	2VQodwaXwLC8rVaH8j3gFNZqsHs1xkZvLWANaG777KhAcj3eJp9SM167BSRRyrgaeWYYAcNC6HnqMeQ7oJ1hw7gg	\N	key_01M8E2AGQSTRM0TWCZ27DGR90Z	\N
\.


--
-- Data for Name: policy_versions; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.policy_versions (operator_id, account_id, version, tx_signature, set_at, signer, policy) FROM stdin;
op_01M8E2AGPH61DM3MZFGBJBP9XV	acct_0ZZW8ZCQNPY1QK7841SW5KX497	1	UPAdMGiZksUSpURcxMpT7dbpRkqawxo8rCTV3TK6vp77XmJj5q2bP4v4oJF8t2xSBdzV6aBRv7XHgngs2xtJLXT	2026-11-27T08:35:33.000000Z	EvohitDjgLsnzTW63zfNfCuFupPydm2fGFEjsxECmgzr	{"max_single_transfer":null,"max_daily_spend":null,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}
op_01M8E2AGPH61DM3MZFGBJBP9XV	acct_0KD52HXQ7MEHGZM4EYT2V6EX95	1	5yVctaVVCNu8LoXH6VQqkBEUXfTEym6ZKxuAeNQj3ZgCBWQyesswjkNxCfejeqK2takUy2RCQ3HQdAWzaPZqrE3M	2026-11-27T08:35:33.000000Z	EvohitDjgLsnzTW63zfNfCuFupPydm2fGFEjsxECmgzr	{"max_single_transfer":null,"max_daily_spend":null,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}
op_01M8E2AGPH61DM3MZFGBJBP9XV	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	1	4jYnhdAjjDFwYbF2rCqXhx9T5pn1LXBxNAH4mkoAEj9MZcqSye4MFSCnrWA71ZgLcJqTybwTCKiFC8VLmdRaWDpS	2026-11-27T08:35:33.000000Z	EvohitDjgLsnzTW63zfNfCuFupPydm2fGFEjsxECmgzr	{"max_single_transfer":null,"max_daily_spend":null,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}
op_01M8E2AGPH61DM3MZFGBJBP9XV	acct_0ZZW8ZCQNPY1QK7841SW5KX497	2	5KKWAT58e61ULerNkCirQ1cmqjggdr2nV9aB7ZbWnhP6GBWVxHmdYtGqRHTbm6Vds7wEZaLz2oxea9mZHtyrjGsx	2026-11-27T08:35:34.000000Z	EvohitDjgLsnzTW63zfNfCuFupPydm2fGFEjsxECmgzr	{"max_single_transfer":10,"max_daily_spend":40,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}
op_01M8E2AGPH61DM3MZFGBJBP9XV	acct_0ZZW8ZCQNPY1QK7841SW5KX497	3	FaRwwqrKgaWSURAtwGvqgs4e23NmSFHiJPrJthK4CgrHMrn1iAYujW4ki7Rury68tzRiNp9fQMpJPwPqVy4XwCS	2026-11-27T08:35:34.000000Z	EvohitDjgLsnzTW63zfNfCuFupPydm2fGFEjsxECmgzr	{"max_single_transfer":10,"max_daily_spend":null,"allowed_counterparties":["Dom6v1M1YeiDRigUHWgubkobKa56tAfAkh2bUZzcETiJ"],"counterparty_kinds":["wallet"],"require_memo":true,"paused":false}
op_01M8E2AGPH61DM3MZFGBJBP9XV	acct_0CRVS0HX7D35KMFRX7AXKTMFSC	1	4FSKA2dL8JJrXZzy7BsgD1X55Kw87r6QP4sDxsyg9Z2R8cgkB7PMifSJMvozAqs78ryNMRnpamn4PX3kbmvBgBWp	2026-11-27T08:35:34.000000Z	EvohitDjgLsnzTW63zfNfCuFupPydm2fGFEjsxECmgzr	{"max_single_transfer":null,"max_daily_spend":null,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}
\.


--
-- Data for Name: probes; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.probes (probe, probed_at) FROM stdin;
write	2026-11-27T08:35:36.251832Z
\.


--
-- Data for Name: requests; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.requests (operator_id, idempotency_key, fingerprint, key_id, seed, lease, lease_expires_at, status_code, answer, is_sealed, created_at) FROM stdin;
op_01M8E2AGPH61DM3MZFGBJBP9XV	01M8E2AHK881ADV42Q11PMEHPY	4614ac65e5dc4f23614144f625ce5445505c77b2edc04bb0c99d4a158f5ef96d	key_01M8E2AGQSTRM0TWCZ27DGR90Z	6700423043abdcf254269fcf93dcde2f	57f251e533ebaf7f39377b789f3553f1	2026-11-27T08:36:04.633740Z	201	{"account_id":"acct_0CRVS0HX7D35KMFRX7AXKTMFSC","name":"Cleo","solana_address":"DbRs65mSn5v3BSWMcUHnrabmVAvkSQygRJRJUeSeSKHp","usdc_token_account":"HJKWwc6p7F32GszsHZs4mgjR7NiWDmLeyj9EhDXoLxDU","balance_usdc":"0.000000","balance_as_of":"2026-11-27T08:35:34.704019Z","status":"active","halted":null,"policy":{"max_single_transfer":null,"max_daily_spend":null,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false},"metadata":null,"duplicates":"as_asked","created_at":"2026-11-27T08:35:34.639416Z"}	f	2026-11-27T08:35:34.633740Z
\.


--
-- Data for Name: sessions; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.sessions (token_hash, key_id, started_at, used_at) FROM stdin;
dceb61b8752a9905e1eabdc17ecb67684555ed95eaafd00c98181638ab44d6d5	key_01M8E2AGQSTRM0TWCZ27DGR90Z	2026-11-27T08:35:36.237552Z	2026-11-27T08:35:36.237552Z
\.


--
-- Data for Name: stops; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.stops (tx_signature, operator_id, account_id, is_pause, landed_at) FROM stdin;
2VQodwaXwLC8rVaH8j3gFNZqsHs1xkZvLWANaG777KhAcj3eJp9SM167BSRRyrgaeWYYAcNC6HnqMeQ7oJ1hw7gg	op_01M8E2AGPH61DM3MZFGBJBP9XV	acct_565K05SX64K4HGWXXNQPJ3QNFD	t	2026-11-27T08:35:59.395347Z
\.


--
-- Data for Name: sweeps; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.sweeps (network, began_at) FROM stdin;
test	2026-11-27T08:35:59.306940Z
\.


--
-- Data for Name: transfers; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.transfers (operator_id, transfer_id, network, account_id, key_id, recipient, amount_usdc, memo, idempotency_key, key_use, key_expires_unix, fingerprint, fee_payer, refusal, state, lease_holder, lease_expires_at, signed_bytes, tx_signature, last_valid_block_height, sent_at, slot, ended_at, reason, message, checks, policy_version, reopened, denial, retry_at, resource, created_at, updated_at) FROM stdin;
op_01M8E2AGPH61DM3MZFGBJBP9XV	txn_01M8E2AHACDT4XHNXQZB0D9KWA	test	acct_0ZZW8ZCQNPY1QK7841SW5KX497	key_01M8E2AGQSTRM0TWCZ27DGR90Z	acct_0KD52HXQ7MEHGZM4EYT2V6EX95	1.500000	settled	01M8E2AHA8W6TEMNBCMGCQ3CRN	1	1795854933	9d62533fc99d9321f8ec76d7ba608c0e42c3bdaf37e142955a91a4af860db2f6	\N	\N	settled	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:35:49.348026Z	AaycEdPYR0t7yPFZ8zRAkt8J2VymjUQdqS4lDMZJg0PE8SnegEnAYvyCBQpmeykrvsukzByxjZJmMCl4SqX3UQcBAAQIjQiO/H2fo8xbWZcx5wjzqoET27jRVKYEKzMFbFQ5R29LxJAH4lus89rrZlRDtgKvsdoHAz5acEi4x/LJDJ9CeHgbo0yBjzk7IdGR2NHuYNGPecvWxKO3cGB4Hn3P1J5g/KDqzhDjowS1TK6BYaQgMpfd8w6cSup+yfM5s8QC3xoDBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBoNAaJBTM1rpqgTvoRlq3IM/HrZf+vWXwbWl5PwUjxoG3fbh12Whk9nL4UbO63msHLSF7V9bN5E6jPWFfv8AqQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34R89sAwQABQKKFQAABAAFBAAAEAAFBgAGAQIDByujNMjnAaIcJUVMbonY17f6wNTPigAAAABg4xYAAAAAAAcAAABzZXR0bGVk	4TAEMh8c6fN6wFpvRcHjd6EK6bovb7L87aSFbvQwNr62amFdn4U6hMMJVGJqLVnomV81yhHkWQZWNuiEPTwxQ9ae	176	2026-11-27T08:35:34.405199Z	60	2026-11-27T08:35:34.349000Z	\N	\N	\N	3	0	\N	\N	\N	2026-11-27T08:35:34.348026Z	2026-11-27T08:35:34.438226Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	txn_01M8E2AHJTE3BZYSXQ89VAECAE	test	acct_0KD52HXQ7MEHGZM4EYT2V6EX95	key_01M8E2AGQSTRM0TWCZ27DGR90Z	9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG	100.000000	failed	01M8E2AHA82RR9W5TA56F7F3BE	1	1795854934	14595e1de25628d89812198fa5ec9f55ad213252fb33790724a0b0535bbcafcc	\N	\N	failed	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:35:49.618666Z	\N	\N	\N	\N	\N	2026-11-27T08:35:34.626139Z	insufficient_balance	The account holds 1.500000 USDC, which is less than 100.000000. Send it USDC at J1A4Eoxz5AuuwciJtZhwTtzLeoyC2WjxAohtGrC1hF29.	\N	1	0	\N	\N	\N	2026-11-27T08:35:34.618666Z	2026-11-27T08:35:34.627664Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	txn_01M8E2AHGEQYFS9PFR4XSWP3XA	test	acct_0ZZW8ZCQNPY1QK7841SW5KX497	key_01M8E2AGQSTRM0TWCZ27DGR90Z	acct_0KD52HXQ7MEHGZM4EYT2V6EX95	11.000000	rejected	01M8E2AHA8NAQ880GEZASMMZWN	1	1795854934	85f25abc052bc1ccbe4a119013a4bd72bae9c0eb5006520d1a182a9d00328a4c	\N	\N	rejected	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:35:49.542808Z	\N	\N	\N	\N	\N	2026-11-27T08:35:34.577928Z	single_limit_exceeded	The amount 11.000000 exceeds max_single_transfer, which is 10.000000.	[{"rule":"paused"},{"rule":"require_memo"},{"rule":"allowed_counterparties"},{"rule":"max_single_transfer","broken":true,"limit":"10.000000"},{"rule":"max_daily_spend","used":"1.500000"},{"rule":"balance","limit":"48.500000"}]	3	0	1	\N	\N	2026-11-27T08:35:34.542808Z	2026-11-27T08:35:34.579574Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	txn_01M8E2AHJ4DR4GHZAB9RN6B5PG	test	acct_0ZZW8ZCQNPY1QK7841SW5KX497	key_01M8E2AGQSTRM0TWCZ27DGR90Z	9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG	2.000000	rejected for its payee	01M8E2AHA8PJJT5G9EW92BS2F5	1	1795854934	541ffbb6655b280f1a0b7ba22e2511cf4fb671fa9385743afee241f6d6c52eab	\N	\N	rejected	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:35:49.596201Z	\N	\N	\N	\N	\N	2026-11-27T08:35:34.606501Z	recipient_not_allowed	The recipient is not among the account's allowed_counterparties.	[{"rule":"paused"},{"rule":"require_memo"},{"rule":"allowed_counterparties","broken":true},{"rule":"max_single_transfer","limit":"10.000000"},{"rule":"max_daily_spend","used":"1.500000"},{"rule":"balance","limit":"48.500000"}]	3	0	2	\N	\N	2026-11-27T08:35:34.596201Z	2026-11-27T08:35:34.608524Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	txn_01M8E2B9SJ9S52PV0BTPYHXZTC	test	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	key_01M8E2AGQSTRM0TWCZ27DGR90Z	9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG	3.000000	01M8E2B9SC6AE2FCJ96Z1KY44T	01M8E2B9SC6AE2FCJ96Z1KY44T	1	1795854958	d92a9b2f052a6fc6d81a829f6b730abf9d4a0ef1c5e5dba7ef96079ed844f2b2	\N	\N	sent	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:36:14.410071Z	AYLlqts2cxSo3mslp9dFIQv+l0qFEMNdprv9doqw4EutXOkg/icQqwpyRf+SpRc7FUQ/0cWjaGnRIIKZw+hUzQgBAAQIjQiO/H2fo8xbWZcx5wjzqoET27jRVKYEKzMFbFQ5R29AeBRrG2Qte7wFmOP3r9d8LRn/Bqxd5t673GRkJA9o1lP+hFtSV7XPwNCWchYwMEd2M49+Eijdb7Eisb6JyFG5hIVYkdnxJUvCv3nf0dXUWOjhsynTk8xCtVlQNal6BnsDBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBoNAaJBTM1rpqgTvoRlq3IM/HrZf+vWXwbWl5PwUjxoG3fbh12Whk9nL4UbO63msHLSF7V9bN5E6jPWFfv8AqQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQsqAwQABQIfFAAABAAFBAAAEAAFBgAGAgEDBz6jNMjnAaIcJacyTkorbAvVvR7/TAAAAADAxi0AAAAAABoAAAAwMU04RTJCOVNDNkFFMkZDSjk2WjFLWTQ0VA==	3cnmTQQ6C5AHRS5XKnM4FmQkDHytGnJQPV2pNCuP5PNHnjzQ3LZjuzbiAZEPNtmJYZQnKr1rG4hqXoMR1xMhm7M9	778	2026-11-27T08:35:59.460477Z	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-11-27T08:35:59.410071Z	2026-11-27T08:35:59.460482Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	txn_01M8E2B9V7FH9811GEJBNSQ3EN	test	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	key_01M8E2AGQSTRM0TWCZ27DGR90Z	9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG	0.100000	\N	01M8E2B9SC6AE2FCJ96Z1KY44T-4	1	1795854959	bc60a010036a5d735b571660b4f27cc59262ec4cc2012c440f528271825cb55c	\N	\N	signed	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:36:14.463652Z	ASb5WJjRrPvcFlV8sLRPWADX+mVF+972vZx5vfqV1iNzcn3Xgq4TqVA3rKmgpBO65AbGhajWf4+2FeSIhaeAqAwBAAQIjQiO/H2fo8xbWZcx5wjzqoET27jRVKYEKzMFbFQ5R29AeBRrG2Qte7wFmOP3r9d8LRn/Bqxd5t673GRkJA9o1lP+hFtSV7XPwNCWchYwMEd2M49+Eijdb7Eisb6JyFG5hIVYkdnxJUvCv3nf0dXUWOjhsynTk8xCtVlQNal6BnsDBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBoNAaJBTM1rpqgTvoRlq3IM/HrZf+vWXwbWl5PwUjxoG3fbh12Whk9nL4UbO63msHLSF7V9bN5E6jPWFfv8AqQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQsqAwQABQJ0FAAABAAFBAAAEAAFBgAGAgEDBySjNMjnAaIcJadnfFKAhg6S65uN1QAAAACghgEAAAAAAAAAAAA=	nCHFK7hm9qMUYf6iKQuX6x79jgxQ1JEfr5RfeErwrmFEdUFAtqip3sbxbrKhhuNopY2udgdDEu4Ge9ziEityfVD	778	\N	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-11-27T08:35:59.463652Z	2026-11-27T08:35:59.592075Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	txn_01M8E2B9XVXN2H8FA921Y9EBDN	test	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	key_01M8E2AGQSTRM0TWCZ27DGR90Z	9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG	0.100000	\N	01M8E2B9SC6AE2FCJ96Z1KY44T-8	1	1795854959	bc60a010036a5d735b571660b4f27cc59262ec4cc2012c440f528271825cb55c	\N	\N	claimed	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:36:14.547025Z	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	0	\N	\N	\N	2026-11-27T08:35:59.547025Z	2026-11-27T08:35:59.547025Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	txn_01M8E2B9YVX7G4TZG5WPW7D4HD	test	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	key_01M8E2AGQSTRM0TWCZ27DGR90Z	9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG	0.100000	\N	01M8E2B9SC6AE2FCJ96Z1KY44T-9	1	1795854959	bc60a010036a5d735b571660b4f27cc59262ec4cc2012c440f528271825cb55c	\N	\N	claimed	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:36:14.579358Z	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	0	\N	\N	\N	2026-11-27T08:35:59.579358Z	2026-11-27T08:35:59.579358Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	txn_01M8E2B9V9YHJJQ0EM2X7MV9AD	test	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	key_01M8E2AGQSTRM0TWCZ27DGR90Z	9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG	0.100000	\N	01M8E2B9SC6AE2FCJ96Z1KY44T-5	1	1795854959	bc60a010036a5d735b571660b4f27cc59262ec4cc2012c440f528271825cb55c	\N	\N	signed	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:36:14.465209Z	ASPsEJZe7tXb/G4tRbfUlRvTWU13LZqJlbcI/wko6B3r2c16RfY5TsevwmO4fSoyoj1NEBklKXD7JxlAB8PnHQgBAAQIjQiO/H2fo8xbWZcx5wjzqoET27jRVKYEKzMFbFQ5R29AeBRrG2Qte7wFmOP3r9d8LRn/Bqxd5t673GRkJA9o1lP+hFtSV7XPwNCWchYwMEd2M49+Eijdb7Eisb6JyFG5hIVYkdnxJUvCv3nf0dXUWOjhsynTk8xCtVlQNal6BnsDBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBoNAaJBTM1rpqgTvoRlq3IM/HrZf+vWXwbWl5PwUjxoG3fbh12Whk9nL4UbO63msHLSF7V9bN5E6jPWFfv8AqQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQsqAwQABQJ2FAAABAAFBAAAEAAFBgAGAgEDBySjNMjnAaIcJadp9GUrgdQXT02lTQAAAACghgEAAAAAAAAAAAA=	if28JBaXW371St2aJDE1deThdox5MMdjDojKKRZoZ1zLP95xxZLRQyHHqtrmDLKuMDs5RTcBfMKDFkPbPw2zQMD	778	\N	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-11-27T08:35:59.465209Z	2026-11-27T08:35:59.599233Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	txn_01M8E2BA0NWDY1VFXDRPT0Y0MT	test	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	key_01M8E2AGQSTRM0TWCZ27DGR90Z	9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG	0.100000	\N	01M8E2B9SC6AE2FCJ96Z1KY44T-12	1	1795854959	bc60a010036a5d735b571660b4f27cc59262ec4cc2012c440f528271825cb55c	\N	\N	claimed	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:36:14.637454Z	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	0	\N	\N	\N	2026-11-27T08:35:59.637454Z	2026-11-27T08:35:59.637454Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	txn_01M8E2B9V22JR12NYRFT0JJQE9	test	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	key_01M8E2AGQSTRM0TWCZ27DGR90Z	9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG	0.100000	\N	01M8E2B9SC6AE2FCJ96Z1KY44T-0	1	1795854959	bc60a010036a5d735b571660b4f27cc59262ec4cc2012c440f528271825cb55c	\N	\N	signed	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:36:14.458612Z	ASYoWc1dplkYzh3mfvIYfjZzf26VOpeRzNMAEanLiIBQTnFA2wq3P6IRZxeX9lYwLHUJAGKFqM1ZU1qWMwJ30QMBAAQIjQiO/H2fo8xbWZcx5wjzqoET27jRVKYEKzMFbFQ5R29AeBRrG2Qte7wFmOP3r9d8LRn/Bqxd5t673GRkJA9o1lP+hFtSV7XPwNCWchYwMEd2M49+Eijdb7Eisb6JyFG5hIVYkdnxJUvCv3nf0dXUWOjhsynTk8xCtVlQNal6BnsDBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBoNAaJBTM1rpqgTvoRlq3IM/HrZf+vWXwbWl5PwUjxoG3fbh12Whk9nL4UbO63msHLSF7V9bN5E6jPWFfv8AqQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQsqAwQABQJ7FAAABAAFBAAAEAAFBgAGAgEDBySjNMjnAaIcJadiFLARV9h+gSldyQAAAACghgEAAAAAAAAAAAA=	mFNb7Kc1qoSDQwff91AfepFmPNd2MkC2Av6Qv2tqowRXGxpZygNgAKXPx66KU7V7qRNEsY79ScTWJ3w6KXSsty8	778	\N	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-11-27T08:35:59.458612Z	2026-11-27T08:35:59.688802Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	txn_01M8E2B9VD42KYG9MMCCQ6X3ZH	test	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	key_01M8E2AGQSTRM0TWCZ27DGR90Z	9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG	0.100000	\N	01M8E2B9SC6AE2FCJ96Z1KY44T-6	1	1795854959	bc60a010036a5d735b571660b4f27cc59262ec4cc2012c440f528271825cb55c	\N	\N	signed	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:36:14.469166Z	AcjRh6XOq88OR6N60ivRT7+sblMSXTEAS1xr9F0lJSqxDW9z26QtQf32F1e9Q/t2gYO08/BN0dvr+g1ttiLtagIBAAQIjQiO/H2fo8xbWZcx5wjzqoET27jRVKYEKzMFbFQ5R29AeBRrG2Qte7wFmOP3r9d8LRn/Bqxd5t673GRkJA9o1lP+hFtSV7XPwNCWchYwMEd2M49+Eijdb7Eisb6JyFG5hIVYkdnxJUvCv3nf0dXUWOjhsynTk8xCtVlQNal6BnsDBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBoNAaJBTM1rpqgTvoRlq3IM/HrZf+vWXwbWl5PwUjxoG3fbh12Whk9nL4UbO63msHLSF7V9bN5E6jPWFfv8AqQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQsqAwQABQJ6FAAABAAFBAAAEAAFBgAGAgEDBySjNMjnAaIcJadtIKfoJpRjLm6P8QAAAACghgEAAAAAAAAAAAA=	51sUZvhfgspxHhCmjo3NkgapWM8Zd6Lu7bQvt3H2t2LtYHQkZjbBCqxE426S5Dq6FmPDfArgQnkvRoE56EExm8Hw	778	\N	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-11-27T08:35:59.469166Z	2026-11-27T08:35:59.682499Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	txn_01M8E2B9V6TX4HQWS77X0D4NTH	test	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	key_01M8E2AGQSTRM0TWCZ27DGR90Z	9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG	0.100000	\N	01M8E2B9SC6AE2FCJ96Z1KY44T-1	1	1795854959	bc60a010036a5d735b571660b4f27cc59262ec4cc2012c440f528271825cb55c	\N	\N	signed	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:36:14.462893Z	AV1A3u34FSIKjjPUJTka0i4jIeftPWflm1i2xIqXenQ2Zk0HgrzVjY/BCyKui+2whGRUI7pr73xTamKP6YoCZAsBAAQIjQiO/H2fo8xbWZcx5wjzqoET27jRVKYEKzMFbFQ5R29AeBRrG2Qte7wFmOP3r9d8LRn/Bqxd5t673GRkJA9o1lP+hFtSV7XPwNCWchYwMEd2M49+Eijdb7Eisb6JyFG5hIVYkdnxJUvCv3nf0dXUWOjhsynTk8xCtVlQNal6BnsDBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBoNAaJBTM1rpqgTvoRlq3IM/HrZf+vWXwbWl5PwUjxoG3fbh12Whk9nL4UbO63msHLSF7V9bN5E6jPWFfv8AqQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQsqAwQABQJ4FAAABAAFBAAAEAAFBgAGAgEDBySjNMjnAaIcJadm10kb8yc/QNJXUQAAAACghgEAAAAAAAAAAAA=	2s8xV13gGa9oZhewjyAFgbfSKYkgiCbV3EehLaMNnoGNErh72FZKPczTcaDSYLzG25VG2qkzjAEY8QyakN3g3mhC	778	\N	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-11-27T08:35:59.462893Z	2026-11-27T08:35:59.621967Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	txn_01M8E2B9V8TJ2H2T06E6NFJBQ9	test	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	key_01M8E2AGQSTRM0TWCZ27DGR90Z	9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG	0.100000	\N	01M8E2B9SC6AE2FCJ96Z1KY44T-3	1	1795854959	bc60a010036a5d735b571660b4f27cc59262ec4cc2012c440f528271825cb55c	\N	\N	signed	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:36:14.464675Z	AWJrxVE1gvuBCg3vKZ6O6viWSd/nLkF838uNv25FRcnRAhngQFsaNARWeffJw8vQ1BXtCeCueGBGWUD06KdhMAQBAAQIjQiO/H2fo8xbWZcx5wjzqoET27jRVKYEKzMFbFQ5R29AeBRrG2Qte7wFmOP3r9d8LRn/Bqxd5t673GRkJA9o1lP+hFtSV7XPwNCWchYwMEd2M49+Eijdb7Eisb6JyFG5hIVYkdnxJUvCv3nf0dXUWOjhsynTk8xCtVlQNal6BnsDBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBoNAaJBTM1rpqgTvoRlq3IM/HrZf+vWXwbWl5PwUjxoG3fbh12Whk9nL4UbO63msHLSF7V9bN5E6jPWFfv8AqQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQsqAwQABQJ3FAAABAAFBAAAEAAFBgAGAgEDBySjNMjnAaIcJado1IURaAZxqvku6QAAAACghgEAAAAAAAAAAAA=	2y8Wm24q9u1VnpivtTsGaWVS19AuFFXf7gKUnz3jdUMvika54zrUGaQeeFhr1FWCpet2tCLX2zesDw8tEoa4hva7	778	\N	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-11-27T08:35:59.464675Z	2026-11-27T08:35:59.605206Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	txn_01M8E2BA1CN0EW8SJNW91HYJ85	test	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	key_01M8E2AGQSTRM0TWCZ27DGR90Z	9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG	0.100000	\N	01M8E2B9SC6AE2FCJ96Z1KY44T-11	1	1795854959	bc60a010036a5d735b571660b4f27cc59262ec4cc2012c440f528271825cb55c	\N	\N	claimed	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:36:14.660492Z	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	0	\N	\N	\N	2026-11-27T08:35:59.660492Z	2026-11-27T08:35:59.660492Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	txn_01M8E2B9TZ62BTK4YZD26DZCSA	test	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	key_01M8E2AGQSTRM0TWCZ27DGR90Z	9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG	0.100000	\N	01M8E2B9SC6AE2FCJ96Z1KY44T-15	1	1795854959	bc60a010036a5d735b571660b4f27cc59262ec4cc2012c440f528271825cb55c	\N	\N	signed	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:36:14.455797Z	AcrXM7gk3El/x+uR4HC0Q4UXfWGLTcOYKy+/7+jtAs0ccLljrI8x66vU32C5plin0LrLqvIqpBMWcJmcay3xAA0BAAQIjQiO/H2fo8xbWZcx5wjzqoET27jRVKYEKzMFbFQ5R29AeBRrG2Qte7wFmOP3r9d8LRn/Bqxd5t673GRkJA9o1lP+hFtSV7XPwNCWchYwMEd2M49+Eijdb7Eisb6JyFG5hIVYkdnxJUvCv3nf0dXUWOjhsynTk8xCtVlQNal6BnsDBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBoNAaJBTM1rpqgTvoRlq3IM/HrZf+vWXwbWl5PwUjxoG3fbh12Whk9nL4UbO63msHLSF7V9bN5E6jPWFfv8AqQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQsqAwQABQJ1FAAABAAFBAAAEAAFBgAGAgEDBySjNMjnAaIcJadfMJepk99ojN+zKgAAAACghgEAAAAAAAAAAAA=	54DUpz2wtP1tGNDxaTrp2MZ8pZyZwhBGPKWqrzxZHQJNG67viJbsQxLH2VcFQhxTpC2BLEZCPs41oH2w14Yad7Fz	778	\N	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-11-27T08:35:59.455797Z	2026-11-27T08:35:59.596541Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	txn_01M8E2B9V5XGPH63K4VJM5126V	test	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	key_01M8E2AGQSTRM0TWCZ27DGR90Z	9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG	0.100000	\N	01M8E2B9SC6AE2FCJ96Z1KY44T-7	1	1795854959	bc60a010036a5d735b571660b4f27cc59262ec4cc2012c440f528271825cb55c	\N	\N	signed	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:36:14.461364Z	AWN3oloqyV9wDc4/c7F/fZZ374DRaTN5nCKNMnFx9FJaw67le1OUOWXt/BtJ7ZS3EaonwwuJEq4S6+EOD64kUQ8BAAQIjQiO/H2fo8xbWZcx5wjzqoET27jRVKYEKzMFbFQ5R29AeBRrG2Qte7wFmOP3r9d8LRn/Bqxd5t673GRkJA9o1lP+hFtSV7XPwNCWchYwMEd2M49+Eijdb7Eisb6JyFG5hIVYkdnxJUvCv3nf0dXUWOjhsynTk8xCtVlQNal6BnsDBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBoNAaJBTM1rpqgTvoRlq3IM/HrZf+vWXwbWl5PwUjxoG3fbh12Whk9nL4UbO63msHLSF7V9bN5E6jPWFfv8AqQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQsqAwQABQJ5FAAABAAFBAAAEAAFBgAGAgEDBySjNMjnAaIcJadl7C0TDmTcqFCI2wAAAACghgEAAAAAAAAAAAA=	2zLtSvEQHaFMYjMqctcJRCFkFTmwiNAUGs4ck1wucUjgwUq1bUt6sT5xYaPCT52t1qJPF8U1YY1EKpTdRB4L2Tjk	778	\N	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-11-27T08:35:59.461364Z	2026-11-27T08:35:59.654116Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	txn_01M8E2BA004Q2ATAQZ91S1W5DD	test	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	key_01M8E2AGQSTRM0TWCZ27DGR90Z	9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG	0.100000	\N	01M8E2B9SC6AE2FCJ96Z1KY44T-10	1	1795854959	bc60a010036a5d735b571660b4f27cc59262ec4cc2012c440f528271825cb55c	\N	\N	claimed	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:36:14.616338Z	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	0	\N	\N	\N	2026-11-27T08:35:59.616338Z	2026-11-27T08:35:59.616338Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	txn_01M8E2BA2DBZ05J3MJHSJ2BGYV	test	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	key_01M8E2AGQSTRM0TWCZ27DGR90Z	9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG	0.100000	\N	01M8E2B9SC6AE2FCJ96Z1KY44T-14	1	1795854959	bc60a010036a5d735b571660b4f27cc59262ec4cc2012c440f528271825cb55c	\N	\N	claimed	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:36:14.693698Z	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	0	\N	\N	\N	2026-11-27T08:35:59.693698Z	2026-11-27T08:35:59.693698Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	txn_01M8E2B9VBR1GSPQZ7CYY2DMNY	test	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	key_01M8E2AGQSTRM0TWCZ27DGR90Z	9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG	0.100000	\N	01M8E2B9SC6AE2FCJ96Z1KY44T-2	1	1795854959	bc60a010036a5d735b571660b4f27cc59262ec4cc2012c440f528271825cb55c	\N	\N	signed	21efe42e0b8ddac74f6cb540a442e486	2026-11-27T08:36:14.467574Z	ATFY8JYjf9ETPSvK7sLXsiFdf1Db2DXKiSWciVqqhRWK4vWN0lPZ/WvuUYiaN8gfSK+/wsvFgU181aSx/7En6A0BAAQIjQiO/H2fo8xbWZcx5wjzqoET27jRVKYEKzMFbFQ5R29AeBRrG2Qte7wFmOP3r9d8LRn/Bqxd5t673GRkJA9o1lP+hFtSV7XPwNCWchYwMEd2M49+Eijdb7Eisb6JyFG5hIVYkdnxJUvCv3nf0dXUWOjhsynTk8xCtVlQNal6BnsDBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBoNAaJBTM1rpqgTvoRlq3IM/HrZf+vWXwbWl5PwUjxoG3fbh12Whk9nL4UbO63msHLSF7V9bN5E6jPWFfv8AqQaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34RQsqAwQABQJ8FAAABAAFBAAAEAAFBgAGAgEDBySjNMjnAaIcJadrwGGbX+dnvCbSvgAAAACghgEAAAAAAAAAAAA=	zDy37zVw1eNoRp2629eq4q4qkTvnaPkn4jbL81Sij7mRnNx25i43mvWpTtmcoN1rHaW2mgZswc7RwugQEjQcuXA	778	\N	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-11-27T08:35:59.467574Z	2026-11-27T08:35:59.707427Z
\.


--
-- Data for Name: walks; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.walks (network, address, until_signature, until_slot, under_way, top_signature, top_slot, before_signature) FROM stdin;
test	5LfHvdaXx5aFCRNP2ZNzX5dGCJbAT7Q1qKepRh9mA3e5	\N	\N	f	\N	\N	\N
test	95rNGyayAQDgPuAhbAm6J5RVnViUWyWh664pZuUPDjZR	\N	\N	f	\N	\N	\N
test	6XkxcGk2akp3FLokB7cK5NvfMDTLh1ixGafnRsb6UmHu	\N	\N	f	\N	\N	\N
test	SRXVffxfm1oNmFY38DF6rTVuRNm4Rdq4AfxEP76p3G5	3wvg6YtpeXeu8bGb4z3SQfnmUd5rACUgkinrtCCLLwy51fdmVJefUf5yE956K9qqFCa2huywHCVsGFdmeEpce8JW	292	f	\N	\N	\N
\.


--
-- Data for Name: webhook_balances; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.webhook_balances (operator_id, webhook_id, account_id, balance_usdc, read_at) FROM stdin;
op_01M8E2AGPH61DM3MZFGBJBP9XV	whk_01M8E2AHA27G6ZB1N3AAH0HMFF	acct_5FHHTX1A1QNWWWRP7JHGHKD1TC	20.000000	2026-11-27T08:35:34.346683Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	whk_01M8E2AHA27G6ZB1N3AAH0HMFF	acct_0KD52HXQ7MEHGZM4EYT2V6EX95	3.500000	2026-11-27T08:35:34.831555Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	whk_01M8E2AHA27G6ZB1N3AAH0HMFF	acct_0ZZW8ZCQNPY1QK7841SW5KX497	46.500000	2026-11-27T08:35:34.838900Z
op_01M8E2AGPH61DM3MZFGBJBP9XV	whk_01M8E2AHA27G6ZB1N3AAH0HMFF	acct_565K05SX64K4HGWXXNQPJ3QNFD	1.000000	2026-11-27T08:35:43.767419Z
\.


--
-- Data for Name: webhooks; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.webhooks (webhook_id, operator_id, url, events, account_ids, threshold_usdc, status, disabled_reason, disabled_at, secret, previous_secret, previous_until, failures, failing_since, created_at, updated_at) FROM stdin;
whk_01M8E2AHA27G6ZB1N3AAH0HMFF	op_01M8E2AGPH61DM3MZFGBJBP9XV	http://127.0.0.1:9/low	["balance.low_threshold","limit.threshold"]	[]	6.000000	enabled	\N	\N	Wj+OtM5kne8FjpQZ+eWiLjhUSw+LOXoKoonVgjldBblJb8PcorE6QDebJ6nLaXllmporYWmsvHDQQKEb3MYBzjGCUthCkcyeZUgyEqKzySwBYhLNhnvzMp+x	\N	\N	0	\N	2026-11-27T08:35:34.338331Z	2026-11-27T08:35:34.338331Z
whk_01M8E2AH9VR0ZHG7069D43QR1D	op_01M8E2AGPH61DM3MZFGBJBP9XV	http://127.0.0.1:9/purser	["transfer.settled","policy.changed"]	[]	\N	enabled	\N	\N	s2gS/3jIr2v86yxuFqLjKhdEDN7mmLW6wi0+45IgbNMN0S34DgMpWgPG7kkHlaUHrHvwzqY8fZmNotKJvoBdl9JkuEK7lnb8d7qH3qf00PwIA+jUSTc4fEfu	\N	\N	3	2026-11-27T08:35:34.480513Z	2026-11-27T08:35:34.331861Z	2026-11-27T08:35:34.331861Z
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
-- Name: denial_heads denial_heads_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.denial_heads
    ADD CONSTRAINT denial_heads_pkey PRIMARY KEY (operator_id);


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
-- Name: event_streams event_streams_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.event_streams
    ADD CONSTRAINT event_streams_pkey PRIMARY KEY (operator_id);


--
-- Name: events events_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (operator_id, event_id);


--
-- Name: history history_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.history
    ADD CONSTRAINT history_pkey PRIMARY KEY (operator_id, entry_id);


--
-- Name: indexers indexers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.indexers
    ADD CONSTRAINT indexers_pkey PRIMARY KEY (network);


--
-- Name: ledgers ledgers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ledgers
    ADD CONSTRAINT ledgers_pkey PRIMARY KEY (operator_id, account_id);


--
-- Name: limit_watches limit_watches_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.limit_watches
    ADD CONSTRAINT limit_watches_pkey PRIMARY KEY (operator_id);


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
-- Name: probes probes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.probes
    ADD CONSTRAINT probes_pkey PRIMARY KEY (probe);


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
-- Name: stops stops_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.stops
    ADD CONSTRAINT stops_pkey PRIMARY KEY (tx_signature);


--
-- Name: sweeps sweeps_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sweeps
    ADD CONSTRAINT sweeps_pkey PRIMARY KEY (network);


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
-- Name: webhook_balances webhook_balances_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.webhook_balances
    ADD CONSTRAINT webhook_balances_pkey PRIMARY KEY (operator_id, webhook_id, account_id);


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
-- Name: sessions_started; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_started ON public.sessions USING btree (started_at);


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
-- Name: transfers_settled_elsewhere; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX transfers_settled_elsewhere ON public.transfers USING btree (operator_id, account_id, tx_signature) WHERE ((state = 'settled'::text) AND (signed_bytes IS NULL));


--
-- Name: transfers_undenied; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX transfers_undenied ON public.transfers USING btree (ended_at, transfer_id) WHERE ((state = 'rejected'::text) AND (denial IS NULL));


--
-- Name: transfers_unfinished; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX transfers_unfinished ON public.transfers USING btree (network, lease_expires_at) WHERE (state = ANY (ARRAY['claimed'::text, 'signed'::text, 'sent'::text]));


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
-- Name: denial_heads denial_heads_operator_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.denial_heads
    ADD CONSTRAINT denial_heads_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES public.operators(operator_id);


--
-- Name: denials denials_operator_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.denials
    ADD CONSTRAINT denials_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES public.operators(operator_id);


--
-- Name: event_streams event_streams_operator_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.event_streams
    ADD CONSTRAINT event_streams_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES public.operators(operator_id);


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
-- Name: limit_watches limit_watches_operator_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.limit_watches
    ADD CONSTRAINT limit_watches_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES public.operators(operator_id);


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
-- Name: stops stops_operator_id_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.stops
    ADD CONSTRAINT stops_operator_id_account_id_fkey FOREIGN KEY (operator_id, account_id) REFERENCES public.accounts(operator_id, account_id);


--
-- Name: stops stops_operator_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.stops
    ADD CONSTRAINT stops_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES public.operators(operator_id);


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
-- Name: webhook_balances webhook_balances_operator_id_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.webhook_balances
    ADD CONSTRAINT webhook_balances_operator_id_account_id_fkey FOREIGN KEY (operator_id, account_id) REFERENCES public.accounts(operator_id, account_id);


--
-- Name: webhooks webhooks_operator_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES public.operators(operator_id);


--
-- PostgreSQL database dump complete
--

\unrestrict dNqgokJizztgMYJWh4b0dVqWk2gQZzDGqmZgy64GiCCUA9D9ukerX1tEmqybhnJ

