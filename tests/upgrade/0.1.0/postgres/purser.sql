--
-- PostgreSQL database dump
--

\restrict qd5ImSbsNw2asKhbYn12gPXFiV9QqvfWeWFLYQSdXuu9E2r3akNTd4Id8g2ZNoH

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
1	operators accounts keys	2026-11-25 23:45:55.276738+00	t	\\x2bfee6806aaa601721f3de9f41a94d902abbb879205b7cc354586f8be9c1acade1e4e01671bf704db27da31ea705a3c5	47383280
2	transfers	2026-11-25 23:45:55.327465+00	t	\\xb9867b6d0db5f299e16e98ee0cf2d72e825c12b5e61c69b860df66d1e8f591d75188ecd70d61e9351bf2b3bafb44dec1	23790911
3	history	2026-11-25 23:45:55.360107+00	t	\\x83601d02939c0739db61143d30073255613cec96288af23086c68d5cba2394ec1f1972642da650831623ee810443a91d	46342268
4	events webhooks	2026-11-25 23:45:55.404789+00	t	\\x746bc929f6dea72c8d92f97b2d61866bb8c9752d587f759a6ac0b7904aa39215ff82d904c55c73aafd7ba17a5f4d19a5	61043224
5	policies	2026-11-25 23:45:55.466637+00	t	\\xa1cc0f5da69ebaefa37ae2b53935c39e618a6b2ea769a806e1b432dc6a8695f07fc0d272e55143335f4630d9f13f7a91	26768204
6	sessions	2026-11-25 23:45:55.496931+00	t	\\x8351de3926e3853a865801d6d67af08f68330b552e4862214e76dc689ce260adbcebf85ec965345b4fca1df0bff9cdb7	4293892
7	denials	2026-11-25 23:45:55.501496+00	t	\\x882040998bc8b9474a6938c5992ec11fbb17db23997e4ba5f41af67ca3a72d1341d9fbeab5599ec5cebb72130515d44e	5821646
\.


--
-- Data for Name: accounts; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.accounts (account_id, operator_id, name, metadata, address, token_account, status, duplicates, provisioning, created_at, allowlist_entries, is_closed) FROM stdin;
acct_0139EBQF98J3EJF14VQHMEJBZV	op_01M8AHM0XFQNE7KK6KA51K5MCM	Ada	\N	5bgfARDNnHbTZrjbuH3HzPxHFz2AsD2HPeYqDibSqjii	7c5zsPusbSoSYWdiZ76fcoiFUw5nRukLWCwDX4T34v6j	active	as_asked	ready	2026-11-25T23:45:56.364707Z	1	f
acct_1X59SW65MWNT4BNMM8VHFZFV89	op_01M8AHM0XFQNE7KK6KA51K5MCM	Dana	\N	HzvSP92Sjj4ymMuLD15ydCKweZ48VqD3y6cYepZNHf81	Fm4dNSNiS72yv2gpE8AdG87CWwHCkLZG9S7jeLLoVLmT	active	as_asked	ready	2026-11-25T23:45:56.560844Z	0	f
acct_4P85WP0ASQAR6YRME4D91PNXC6	op_01M8AHM0XFQNE7KK6KA51K5MCM	Cleo	\N	EP5C6wUQfLJfq7UayAN8bHqWeEkwe5NcoZU1d7r7FSXz	9EDFMnoTHkZ1aB6BgZLC9HUDyLsPMhacUegcWeNJgKwx	active	as_asked	ready	2026-11-25T23:45:57.418842Z	0	f
acct_0YY53799AS5AJ1TYG640SKM369	op_01M8AHM0XFQNE7KK6KA51K5MCM	Ben	\N	H2yrYUqYMUGUPpyELuEyLG82sFsy4ncVFkZccHmCfwtc	5Px8EYT4C2ghHHsXm9NQsejNjRguErXHUChmmXVGRBBN	active	as_asked	ready	2026-11-25T23:45:56.472261Z	0	f
\.


--
-- Data for Name: api_keys; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.api_keys (key_id, key_hash, operator_id, account_id, name, hint, created_at, expires_at, revoked_at, last_used_at, allowed_cidrs) FROM stdin;
key_01M8AHM104JV4CVRSVGA8F2XBZ	22924bd39638a125c2921f3de84a439283058dc6d27337d4b609d903b133c42b	op_01M8AHM0XFQNE7KK6KA51K5MCM	\N	\N	psr_op_test_...xTN2	2026-11-25T23:45:56.228613Z	\N	\N	\N	\N
key_01M8AHM13HDH6QMDV6F40JMC6K	2c9fa220378d67690d393b972aa3ca38e134a0598f386d7ab5756e3f2db3033a	op_01M8AHM0XFQNE7KK6KA51K5MCM	\N	\N	psr_op_test_...sCpA	2026-11-25T23:45:56.337449Z	\N	\N	\N	\N
key_01M8AHM1MBDPZ4A8F8ZR8M0EBE	6b80ceb6a3caf5ed546cc4b28e13f71cd87413eb78796ccd5d97205aae506d8c	op_01M8AHM0XFQNE7KK6KA51K5MCM	acct_0139EBQF98J3EJF14VQHMEJBZV	\N	psr_ag_test_...caa9	2026-11-25T23:45:56.875436Z	\N	\N	\N	\N
\.


--
-- Data for Name: deleted_webhooks; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deleted_webhooks (operator_id, webhook_id) FROM stdin;
\.


--
-- Data for Name: deliveries; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deliveries (operator_id, webhook_id, event_id, state, failures, next_attempt_at, ended_at, attempts, lease_holder, lease_expires_at, created_at) FROM stdin;
op_01M8AHM0XFQNE7KK6KA51K5MCM	whk_01M8AHM1W68X82AG9DHVSSB2EC	evt_01M8AHM2079RJGCYGR7826DB2K	pending	1	2026-11-25T23:46:27.313981Z	\N	1	\N	\N	2026-11-25T23:45:57.255312Z
\.


--
-- Data for Name: delivery_attempts; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.delivery_attempts (operator_id, webhook_id, event_id, attempt, started_at, ended_at, status_code, body, unanswered) FROM stdin;
op_01M8AHM0XFQNE7KK6KA51K5MCM	whk_01M8AHM1W68X82AG9DHVSSB2EC	evt_01M8AHM2079RJGCYGR7826DB2K	1	2026-11-25T23:45:57.313186Z	2026-11-25T23:45:57.313981Z	\N	\N	connection_failed
\.


--
-- Data for Name: denial_heads; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.denial_heads (operator_id, number, tx_signature, next_at) FROM stdin;
\.


--
-- Data for Name: denials; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.denials (operator_id, number, transfer_id, document, signature) FROM stdin;
op_01M8AHM0XFQNE7KK6KA51K5MCM	1	txn_01M8AHM21NNCN1N8T78SG16BMQ	{"account":"5bgfARDNnHbTZrjbuH3HzPxHFz2AsD2HPeYqDibSqjii","account_id":"acct_0139EBQF98J3EJF14VQHMEJBZV","amount_micro_usdc":"11000000","checks":[{"limit_micro_usdc":null,"ok":true,"rule":"paused","used_micro_usdc":"0"},{"limit_micro_usdc":null,"ok":true,"rule":"require_memo","used_micro_usdc":"0"},{"limit_micro_usdc":null,"ok":true,"rule":"allowed_counterparties","used_micro_usdc":"0"},{"limit_micro_usdc":"10000000","ok":false,"rule":"max_single_transfer","used_micro_usdc":"0"},{"limit_micro_usdc":null,"ok":true,"rule":"max_daily_spend","used_micro_usdc":"1500000"},{"limit_micro_usdc":"48500000","ok":true,"rule":"balance","used_micro_usdc":"0"}],"key":"E3dZFCPnYV8XUUc8QqZCPj91XGdyQvvLyQV6yLQRdF4D","message":"The amount 11.000000 exceeds max_single_transfer, which is 10.000000.","network":"test","number":1,"operator":"DvyR2hjB2zcx44Sgb9BiwjMLUQSTRTFbe6jYcbG1Ggou","operator_id":"op_01M8AHM0XFQNE7KK6KA51K5MCM","policy_version":3,"previous_sha256":"0000000000000000000000000000000000000000000000000000000000000000","previous_transfer_id":null,"reason":"single_limit_exceeded","rejected_at":"2026-11-25T23:45:57.328771Z","requested_at":"2026-11-25T23:45:57.301506Z","to":"acct_0YY53799AS5AJ1TYG640SKM369","transfer_id":"txn_01M8AHM21NNCN1N8T78SG16BMQ","version":1}	5oRYsRGvFrbxV4V8mbtHJyrhAgK2FcFVyVjD74SeZvdwpNB5oEgz62yLXb8p3pkY1SK2uez5nifz1QyopbyxB81C
op_01M8AHM0XFQNE7KK6KA51K5MCM	2	txn_01M8AHM239G644X3P5REY8JV66	{"account":"5bgfARDNnHbTZrjbuH3HzPxHFz2AsD2HPeYqDibSqjii","account_id":"acct_0139EBQF98J3EJF14VQHMEJBZV","amount_micro_usdc":"2000000","checks":[{"limit_micro_usdc":null,"ok":true,"rule":"paused","used_micro_usdc":"0"},{"limit_micro_usdc":null,"ok":true,"rule":"require_memo","used_micro_usdc":"0"},{"limit_micro_usdc":null,"ok":false,"rule":"allowed_counterparties","used_micro_usdc":"0"},{"limit_micro_usdc":"10000000","ok":true,"rule":"max_single_transfer","used_micro_usdc":"0"},{"limit_micro_usdc":null,"ok":true,"rule":"max_daily_spend","used_micro_usdc":"1500000"},{"limit_micro_usdc":"48500000","ok":true,"rule":"balance","used_micro_usdc":"0"}],"key":"E3dZFCPnYV8XUUc8QqZCPj91XGdyQvvLyQV6yLQRdF4D","message":"The recipient is not among the account's allowed_counterparties.","network":"test","number":2,"operator":"DvyR2hjB2zcx44Sgb9BiwjMLUQSTRTFbe6jYcbG1Ggou","operator_id":"op_01M8AHM0XFQNE7KK6KA51K5MCM","policy_version":3,"previous_sha256":"154cf92e819a13f9c41d54decb50cab192b4bbd2b17dc78142bc21ad2073b5ff","previous_transfer_id":"txn_01M8AHM21NNCN1N8T78SG16BMQ","reason":"recipient_not_allowed","rejected_at":"2026-11-25T23:45:57.371804Z","requested_at":"2026-11-25T23:45:57.353689Z","to":"GEJuMtEV66GCvXZpvH9fNcQ2wzCaCD9gxruKyTrwVG8b","transfer_id":"txn_01M8AHM239G644X3P5REY8JV66","version":1}	3HVGQhWgoHhUuK3Cz9GrRSL4VsdZFC584KmP5sq3GtBemUyZhErxBw6L9sj7JiJfee6FqxMQZGYL9xK8qcwAbta2
\.


--
-- Data for Name: event_streams; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.event_streams (operator_id, last_place) FROM stdin;
\.


--
-- Data for Name: events; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.events (operator_id, event_id, event_type, account_id, transfer_id, threshold_usdc, webhook_id, data, created_at, fact, place) FROM stdin;
op_01M8AHM0XFQNE7KK6KA51K5MCM	evt_01M8AHM1JTFA9TAH5ENH3EXXDG	deposit.settled	acct_0139EBQF98J3EJF14VQHMEJBZV	\N	\N	\N	{"account_id":"acct_0139EBQF98J3EJF14VQHMEJBZV","entry_id":"ent_7M4XXXSXKDA1MW18XH69H6567C","amount_usdc":"50.000000","from":null,"memo":null,"transfer_id":null,"tx_signature":"JbdCX6PTXAos41cZi1o1zYM5jPwrGrY2kC2567p4C5WhwWDcpWTFSz7JQcHXcE1LZFZsJXtLw1A664rnK1ctjzA","settled_at":"2026-11-25T23:45:56.000000Z"}	2026-11-25T23:45:56.826490Z	deposit.settled|ent_7M4XXXSXKDA1MW18XH69H6567C	\N
op_01M8AHM0XFQNE7KK6KA51K5MCM	evt_01M8AHM1V1TFNEEE46P5DENP4R	policy.changed	acct_0139EBQF98J3EJF14VQHMEJBZV	\N	\N	\N	{"account_id":"acct_0139EBQF98J3EJF14VQHMEJBZV","before":{"version":1,"policy":{"max_single_transfer":null,"max_daily_spend":null,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}},"after":{"version":2,"policy":{"max_single_transfer":10,"max_daily_spend":40,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}},"signer":"H5eoimnzrnFmnsHwiRhyikD1TbK1jRTpKG7ySkaLBeqt","tx_signature":"4hat53LzTxpXCUsNrig3cd71r6eVMwrZWCv4f1DBM3nqQaepHq2GrUnvCFhresAvthD5NfKZwhMt7JX1ZAZ5UWYr","changed_at":"2026-11-25T23:45:56.000000Z"}	2026-11-25T23:45:57.089847Z	policy.changed|4hat53LzTxpXCUsNrig3cd71r6eVMwrZWCv4f1DBM3nqQaepHq2GrUnvCFhresAvthD5NfKZwhMt7JX1ZAZ5UWYr|acct_0139EBQF98J3EJF14VQHMEJBZV|2	\N
op_01M8AHM0XFQNE7KK6KA51K5MCM	evt_01M8AHM1W45GP4R113337EFMPX	policy.changed	acct_0139EBQF98J3EJF14VQHMEJBZV	\N	\N	\N	{"account_id":"acct_0139EBQF98J3EJF14VQHMEJBZV","before":{"version":2,"policy":{"max_single_transfer":10,"max_daily_spend":40,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}},"after":{"version":3,"policy":{"max_single_transfer":10,"max_daily_spend":null,"allowed_counterparties":["H2yrYUqYMUGUPpyELuEyLG82sFsy4ncVFkZccHmCfwtc"],"counterparty_kinds":["wallet"],"require_memo":true,"paused":false}},"signer":"H5eoimnzrnFmnsHwiRhyikD1TbK1jRTpKG7ySkaLBeqt","tx_signature":"58LFSL53NtQKT1nzkcUxEaZJGr5sck5CkdUzopnhxXmAu9fTmr7jp7US94z9SwJsTVadrfeF9QZMUPVBiL4bHgHj","changed_at":"2026-11-25T23:45:57.000000Z"}	2026-11-25T23:45:57.124176Z	policy.changed|58LFSL53NtQKT1nzkcUxEaZJGr5sck5CkdUzopnhxXmAu9fTmr7jp7US94z9SwJsTVadrfeF9QZMUPVBiL4bHgHj|acct_0139EBQF98J3EJF14VQHMEJBZV|3	\N
op_01M8AHM0XFQNE7KK6KA51K5MCM	evt_01M8AHM1ZC4979R928SJM5WF3J	transfer.initiated	acct_0139EBQF98J3EJF14VQHMEJBZV	txn_01M8AHM1X1WYA9CV9M78XMH9MA	\N	\N	{"transfer_id":"txn_01M8AHM1X1WYA9CV9M78XMH9MA","account_id":"acct_0139EBQF98J3EJF14VQHMEJBZV","to":"acct_0YY53799AS5AJ1TYG640SKM369","amount_usdc":"1.500000","memo":"settled","tx_signature":"xgxjfUTi5pdPuhvzWRzYPT8ybsxEdFg6UsaBRnjps1HjgdYmoR51kFZW8kyPdc5ziKshgCszfxVb2nHX4ouTfNS"}	2026-11-25T23:45:57.228137Z	\N	\N
op_01M8AHM0XFQNE7KK6KA51K5MCM	evt_01M8AHM1ZZJ5EQH2GRJ8P8HXH7	deposit.settled	acct_1X59SW65MWNT4BNMM8VHFZFV89	\N	\N	\N	{"account_id":"acct_1X59SW65MWNT4BNMM8VHFZFV89","entry_id":"ent_15C2Z03F0QB2P5VGX0MYEXN9PY","amount_usdc":"20.000000","from":null,"memo":null,"transfer_id":null,"tx_signature":"4yaxLqhzAMZn2qoATHbSpoZhj2t87XvZezbBzRNiZfmBY3sMduntLgbhTqdD1BGLB2iUctqCV4qBPne7xk3EdTZw","settled_at":"2026-11-25T23:45:56.000000Z"}	2026-11-25T23:45:57.247581Z	deposit.settled|ent_15C2Z03F0QB2P5VGX0MYEXN9PY	\N
op_01M8AHM0XFQNE7KK6KA51K5MCM	evt_01M8AHM2079RJGCYGR7826DB2K	transfer.settled	acct_0139EBQF98J3EJF14VQHMEJBZV	txn_01M8AHM1X1WYA9CV9M78XMH9MA	\N	\N	{"transfer_id":"txn_01M8AHM1X1WYA9CV9M78XMH9MA","account_id":"acct_0139EBQF98J3EJF14VQHMEJBZV","to":"acct_0YY53799AS5AJ1TYG640SKM369","amount_usdc":"1.500000","memo":"settled","idempotency_key":"01M8AHM1WS6NSBYXT22947AD1D","tx_signature":"xgxjfUTi5pdPuhvzWRzYPT8ybsxEdFg6UsaBRnjps1HjgdYmoR51kFZW8kyPdc5ziKshgCszfxVb2nHX4ouTfNS","settled_at":"2026-11-25T23:45:57.154000Z"}	2026-11-25T23:45:57.255312Z	\N	\N
op_01M8AHM0XFQNE7KK6KA51K5MCM	evt_01M8AHM2079R0NNX4KBMEGC0TY	deposit.settled	acct_0YY53799AS5AJ1TYG640SKM369	\N	\N	\N	{"account_id":"acct_0YY53799AS5AJ1TYG640SKM369","entry_id":"ent_0A7A3SCT81RY4BJVHTF48S3J9W","amount_usdc":"1.500000","from":"7c5zsPusbSoSYWdiZ76fcoiFUw5nRukLWCwDX4T34v6j","memo":"settled","transfer_id":"txn_01M8AHM1X1WYA9CV9M78XMH9MA","tx_signature":"xgxjfUTi5pdPuhvzWRzYPT8ybsxEdFg6UsaBRnjps1HjgdYmoR51kFZW8kyPdc5ziKshgCszfxVb2nHX4ouTfNS","settled_at":"2026-11-25T23:45:57.154000Z"}	2026-11-25T23:45:57.255312Z	deposit.settled|ent_0A7A3SCT81RY4BJVHTF48S3J9W	\N
op_01M8AHM0XFQNE7KK6KA51K5MCM	evt_01M8AHM22KV83W0YRD68W5TFMM	transfer.rejected	acct_0139EBQF98J3EJF14VQHMEJBZV	txn_01M8AHM21NNCN1N8T78SG16BMQ	\N	\N	{"account_id":"acct_0139EBQF98J3EJF14VQHMEJBZV","rejection_reason":"single_limit_exceeded","transfer_id":"txn_01M8AHM21NNCN1N8T78SG16BMQ","to":"acct_0YY53799AS5AJ1TYG640SKM369","amount_usdc":"11.000000","message":"The amount 11.000000 exceeds max_single_transfer, which is 10.000000."}	2026-11-25T23:45:57.331872Z	\N	\N
op_01M8AHM0XFQNE7KK6KA51K5MCM	evt_01M8AHM2406CWGJD3RWJ9CKAAT	transfer.rejected	acct_0139EBQF98J3EJF14VQHMEJBZV	txn_01M8AHM239G644X3P5REY8JV66	\N	\N	{"account_id":"acct_0139EBQF98J3EJF14VQHMEJBZV","rejection_reason":"recipient_not_allowed","transfer_id":"txn_01M8AHM239G644X3P5REY8JV66","to":"GEJuMtEV66GCvXZpvH9fNcQ2wzCaCD9gxruKyTrwVG8b","amount_usdc":"2.000000","message":"The recipient is not among the account's allowed_counterparties."}	2026-11-25T23:45:57.376204Z	\N	\N
op_01M8AHM0XFQNE7KK6KA51K5MCM	evt_01M8AHM2C7BKRZFCCDW3R1FT42	withdrawal.settled	acct_0139EBQF98J3EJF14VQHMEJBZV	\N	\N	\N	{"account_id":"acct_0139EBQF98J3EJF14VQHMEJBZV","entry_id":"ent_7QAW8KKHEE75NQ7VFYFJ5D7SFC","amount_usdc":"2.000000","to":"5Px8EYT4C2ghHHsXm9NQsejNjRguErXHUChmmXVGRBBN","tx_signature":"4gyZNvU61C3gQ7WRZsAHBeyWxxCwCXPsK9dmdiH8M9mv3hBLNsDfNDog4eGv1MJupiKqzasE7UvZkrofDmpSoQS7","settled_at":"2026-11-25T23:45:57.000000Z"}	2026-11-25T23:45:57.639371Z	withdrawal.settled|ent_7QAW8KKHEE75NQ7VFYFJ5D7SFC	\N
op_01M8AHM0XFQNE7KK6KA51K5MCM	evt_01M8AHM2C7BKMYTPT0MH4C8SDZ	deposit.settled	acct_0YY53799AS5AJ1TYG640SKM369	\N	\N	\N	{"account_id":"acct_0YY53799AS5AJ1TYG640SKM369","entry_id":"ent_5Y89EPHNTYRV22NWT8Y9E7RBTM","amount_usdc":"2.000000","from":"7c5zsPusbSoSYWdiZ76fcoiFUw5nRukLWCwDX4T34v6j","memo":null,"transfer_id":null,"tx_signature":"4gyZNvU61C3gQ7WRZsAHBeyWxxCwCXPsK9dmdiH8M9mv3hBLNsDfNDog4eGv1MJupiKqzasE7UvZkrofDmpSoQS7","settled_at":"2026-11-25T23:45:57.000000Z"}	2026-11-25T23:45:57.639371Z	deposit.settled|ent_5Y89EPHNTYRV22NWT8Y9E7RBTM	\N
\.


--
-- Data for Name: history; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.history (operator_id, entry_id, account_id, network, kind, status, amount_usdc, counterparty, memo, transfer_id, tx_signature, slot, reason, message, is_final, created_at, "position", number, tag, read_at, spent_micros, policy_version) FROM stdin;
op_01M8AHM0XFQNE7KK6KA51K5MCM	ent_01M8AHM21NNCN1N8T78SG16BMQ	acct_0139EBQF98J3EJF14VQHMEJBZV	test	transfer	rejected	11.000000	acct_0YY53799AS5AJ1TYG640SKM369	rejected	txn_01M8AHM21NNCN1N8T78SG16BMQ	\N	\N	single_limit_exceeded	The amount 11.000000 exceeds max_single_transfer, which is 10.000000.	t	2026-11-25T23:45:57.328771Z	2026-11-25T23:45:57.328771Z	\N	\N	\N	\N	\N
op_01M8AHM0XFQNE7KK6KA51K5MCM	ent_01M8AHM239G644X3P5REY8JV66	acct_0139EBQF98J3EJF14VQHMEJBZV	test	transfer	rejected	2.000000	GEJuMtEV66GCvXZpvH9fNcQ2wzCaCD9gxruKyTrwVG8b	rejected for its payee	txn_01M8AHM239G644X3P5REY8JV66	\N	\N	recipient_not_allowed	The recipient is not among the account's allowed_counterparties.	t	2026-11-25T23:45:57.371804Z	2026-11-25T23:45:57.371804Z	\N	\N	\N	\N	\N
op_01M8AHM0XFQNE7KK6KA51K5MCM	ent_7M4XXXSXKDA1MW18XH69H6567C	acct_0139EBQF98J3EJF14VQHMEJBZV	test	deposit	settled	50.000000	\N	\N	\N	JbdCX6PTXAos41cZi1o1zYM5jPwrGrY2kC2567p4C5WhwWDcpWTFSz7JQcHXcE1LZFZsJXtLw1A664rnK1ctjzA	70	\N	\N	t	2026-11-25T23:45:56.000000Z	2026-11-25T23:45:56.826490Z	\N	\N	\N	\N	\N
op_01M8AHM0XFQNE7KK6KA51K5MCM	ent_15C2Z03F0QB2P5VGX0MYEXN9PY	acct_1X59SW65MWNT4BNMM8VHFZFV89	test	deposit	settled	20.000000	\N	\N	\N	4yaxLqhzAMZn2qoATHbSpoZhj2t87XvZezbBzRNiZfmBY3sMduntLgbhTqdD1BGLB2iUctqCV4qBPne7xk3EdTZw	72	\N	\N	t	2026-11-25T23:45:56.000000Z	2026-11-25T23:45:57.247581Z	\N	\N	\N	\N	\N
op_01M8AHM0XFQNE7KK6KA51K5MCM	ent_667R4C4MQGTK9YJK5307A1JY67	acct_0139EBQF98J3EJF14VQHMEJBZV	test	transfer	settled	1.500000	5Px8EYT4C2ghHHsXm9NQsejNjRguErXHUChmmXVGRBBN	settled	txn_01M8AHM1X1WYA9CV9M78XMH9MA	xgxjfUTi5pdPuhvzWRzYPT8ybsxEdFg6UsaBRnjps1HjgdYmoR51kFZW8kyPdc5ziKshgCszfxVb2nHX4ouTfNS	82	\N	\N	t	2026-11-25T23:45:57.154000Z	2026-11-25T23:45:57.255312Z	1	8aa6483b3a346d96	2026-11-25T23:45:57.255312Z	\N	\N
op_01M8AHM0XFQNE7KK6KA51K5MCM	ent_0A7A3SCT81RY4BJVHTF48S3J9W	acct_0YY53799AS5AJ1TYG640SKM369	test	deposit	settled	1.500000	7c5zsPusbSoSYWdiZ76fcoiFUw5nRukLWCwDX4T34v6j	settled	txn_01M8AHM1X1WYA9CV9M78XMH9MA	xgxjfUTi5pdPuhvzWRzYPT8ybsxEdFg6UsaBRnjps1HjgdYmoR51kFZW8kyPdc5ziKshgCszfxVb2nHX4ouTfNS	82	\N	\N	t	2026-11-25T23:45:57.154000Z	2026-11-25T23:45:57.255312Z	\N	\N	\N	\N	\N
op_01M8AHM0XFQNE7KK6KA51K5MCM	ent_7QAW8KKHEE75NQ7VFYFJ5D7SFC	acct_0139EBQF98J3EJF14VQHMEJBZV	test	withdrawal	settled	2.000000	5Px8EYT4C2ghHHsXm9NQsejNjRguErXHUChmmXVGRBBN	\N	\N	4gyZNvU61C3gQ7WRZsAHBeyWxxCwCXPsK9dmdiH8M9mv3hBLNsDfNDog4eGv1MJupiKqzasE7UvZkrofDmpSoQS7	89	\N	\N	t	2026-11-25T23:45:57.000000Z	2026-11-25T23:45:57.639371Z	\N	\N	\N	\N	\N
op_01M8AHM0XFQNE7KK6KA51K5MCM	ent_5Y89EPHNTYRV22NWT8Y9E7RBTM	acct_0YY53799AS5AJ1TYG640SKM369	test	deposit	settled	2.000000	7c5zsPusbSoSYWdiZ76fcoiFUw5nRukLWCwDX4T34v6j	\N	\N	4gyZNvU61C3gQ7WRZsAHBeyWxxCwCXPsK9dmdiH8M9mv3hBLNsDfNDog4eGv1MJupiKqzasE7UvZkrofDmpSoQS7	89	\N	\N	t	2026-11-25T23:45:57.000000Z	2026-11-25T23:45:57.639371Z	\N	\N	\N	\N	\N
\.


--
-- Data for Name: indexers; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.indexers (network, holder, expires_at) FROM stdin;
test	c1c7c32e5ee49d10413885f8633ccb60	2026-11-25T23:46:09.725216Z
\.


--
-- Data for Name: ledgers; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.ledgers (operator_id, account_id, booked_micros, unexplained_micros, seen_micros, seen_slot, payments_up_to, payments_beyond, payments_unnumbered, payments_wanted, placed_micros, newest_slot) FROM stdin;
op_01M8AHM0XFQNE7KK6KA51K5MCM	acct_1X59SW65MWNT4BNMM8VHFZFV89	20000000	0	20000000	80	0		0	0	1795650357247581	72
op_01M8AHM0XFQNE7KK6KA51K5MCM	acct_0139EBQF98J3EJF14VQHMEJBZV	46500000	0	46500000	91	1		0	0	1795650357639653	89
op_01M8AHM0XFQNE7KK6KA51K5MCM	acct_0YY53799AS5AJ1TYG640SKM369	3500000	0	3500000	91	0		0	0	1795650357639653	89
\.


--
-- Data for Name: limit_watches; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.limit_watches (operator_id, since) FROM stdin;
\.


--
-- Data for Name: operators; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.operators (operator_id, network, name, address, created_at) FROM stdin;
op_01M8AHM0XFQNE7KK6KA51K5MCM	test	Operator 0	DvyR2hjB2zcx44Sgb9BiwjMLUQSTRTFbe6jYcbG1Ggou	2026-11-25T23:45:56.143757Z
\.


--
-- Data for Name: pending_fetches; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.pending_fetches (network, tx_signature, slot, tries, next_try_at) FROM stdin;
\.


--
-- Data for Name: pending_policies; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.pending_policies (operator_id, account_id, hash, expected_version, allowlist_entries, due_unix, is_announced, created_at, sealed_by) FROM stdin;
\.


--
-- Data for Name: policy_askings; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.policy_askings (operator_id, account_id, done_by, version, key_id, reason) FROM stdin;
op_01M8AHM0XFQNE7KK6KA51K5MCM	acct_0139EBQF98J3EJF14VQHMEJBZV	4hat53LzTxpXCUsNrig3cd71r6eVMwrZWCv4f1DBM3nqQaepHq2GrUnvCFhresAvthD5NfKZwhMt7JX1ZAZ5UWYr	\N	key_01M8AHM104JV4CVRSVGA8F2XBZ	\N
op_01M8AHM0XFQNE7KK6KA51K5MCM	acct_0139EBQF98J3EJF14VQHMEJBZV	58LFSL53NtQKT1nzkcUxEaZJGr5sck5CkdUzopnhxXmAu9fTmr7jp7US94z9SwJsTVadrfeF9QZMUPVBiL4bHgHj	\N	key_01M8AHM104JV4CVRSVGA8F2XBZ	\N
\.


--
-- Data for Name: policy_versions; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.policy_versions (operator_id, account_id, version, tx_signature, set_at, signer, policy) FROM stdin;
op_01M8AHM0XFQNE7KK6KA51K5MCM	acct_0139EBQF98J3EJF14VQHMEJBZV	1	2PXhPo8EhvNan6djXXRdgFwjiBxDkeFrNZ5HJ7Z9eWe9SvHXHP67Djy5WYAKmQYVEsViYoTTXcVtGhGoRBW48Qyp	2026-11-25T23:45:56.000000Z	H5eoimnzrnFmnsHwiRhyikD1TbK1jRTpKG7ySkaLBeqt	{"max_single_transfer":null,"max_daily_spend":null,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}
op_01M8AHM0XFQNE7KK6KA51K5MCM	acct_0YY53799AS5AJ1TYG640SKM369	1	84pSc7nKRPvHATWJXNos5DyeoXxx24FLnfx2vRfXmtmzqa9vGWAAAQqvXeo364Vff3ktvA5966v5Ud8i2RX1vzF	2026-11-25T23:45:56.000000Z	H5eoimnzrnFmnsHwiRhyikD1TbK1jRTpKG7ySkaLBeqt	{"max_single_transfer":null,"max_daily_spend":null,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}
op_01M8AHM0XFQNE7KK6KA51K5MCM	acct_1X59SW65MWNT4BNMM8VHFZFV89	1	FnZBkcGaizyE37w73xJcavUgsFVtJJnmraFx86hnGdQZLbMgtfZb6mAb6UptPVhWxSRUffhLynVmh1wCs3tY4L1	2026-11-25T23:45:56.000000Z	H5eoimnzrnFmnsHwiRhyikD1TbK1jRTpKG7ySkaLBeqt	{"max_single_transfer":null,"max_daily_spend":null,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}
op_01M8AHM0XFQNE7KK6KA51K5MCM	acct_0139EBQF98J3EJF14VQHMEJBZV	2	4hat53LzTxpXCUsNrig3cd71r6eVMwrZWCv4f1DBM3nqQaepHq2GrUnvCFhresAvthD5NfKZwhMt7JX1ZAZ5UWYr	2026-11-25T23:45:56.000000Z	H5eoimnzrnFmnsHwiRhyikD1TbK1jRTpKG7ySkaLBeqt	{"max_single_transfer":10,"max_daily_spend":40,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}
op_01M8AHM0XFQNE7KK6KA51K5MCM	acct_0139EBQF98J3EJF14VQHMEJBZV	3	58LFSL53NtQKT1nzkcUxEaZJGr5sck5CkdUzopnhxXmAu9fTmr7jp7US94z9SwJsTVadrfeF9QZMUPVBiL4bHgHj	2026-11-25T23:45:57.000000Z	H5eoimnzrnFmnsHwiRhyikD1TbK1jRTpKG7ySkaLBeqt	{"max_single_transfer":10,"max_daily_spend":null,"allowed_counterparties":["H2yrYUqYMUGUPpyELuEyLG82sFsy4ncVFkZccHmCfwtc"],"counterparty_kinds":["wallet"],"require_memo":true,"paused":false}
op_01M8AHM0XFQNE7KK6KA51K5MCM	acct_4P85WP0ASQAR6YRME4D91PNXC6	1	uQnQGdyZGYLAEQdqMrsjYiN7EdGK6x884EDjoPHSKE72gfSRMdB4RQHbwCRCKvqrHBTeL5nGYEXHKd4Z4ikH17X	2026-11-25T23:45:57.000000Z	H5eoimnzrnFmnsHwiRhyikD1TbK1jRTpKG7ySkaLBeqt	{"max_single_transfer":null,"max_daily_spend":null,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false}
\.


--
-- Data for Name: probes; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.probes (probe, probed_at) FROM stdin;
\.


--
-- Data for Name: requests; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.requests (operator_id, idempotency_key, fingerprint, key_id, seed, lease, lease_expires_at, status_code, answer, is_sealed, created_at) FROM stdin;
op_01M8AHM0XFQNE7KK6KA51K5MCM	01M8AHM24VDM4HH5K8KAPP3S82	4614ac65e5dc4f23614144f625ce5445505c77b2edc04bb0c99d4a158f5ef96d	key_01M8AHM104JV4CVRSVGA8F2XBZ	b549f9c33bd395155d1ccccc850cd875	97a6812f70f6db2cff037499541e0b9a	2026-11-25T23:46:27.408547Z	201	{"account_id":"acct_4P85WP0ASQAR6YRME4D91PNXC6","name":"Cleo","solana_address":"EP5C6wUQfLJfq7UayAN8bHqWeEkwe5NcoZU1d7r7FSXz","usdc_token_account":"9EDFMnoTHkZ1aB6BgZLC9HUDyLsPMhacUegcWeNJgKwx","balance_usdc":"0.000000","balance_as_of":"2026-11-25T23:45:57.490446Z","status":"active","halted":null,"policy":{"max_single_transfer":null,"max_daily_spend":null,"allowed_counterparties":null,"counterparty_kinds":null,"require_memo":false,"paused":false},"metadata":null,"duplicates":"as_asked","created_at":"2026-11-25T23:45:57.418842Z"}	f	2026-11-25T23:45:57.408547Z
\.


--
-- Data for Name: sessions; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.sessions (token_hash, key_id, started_at, used_at) FROM stdin;
\.


--
-- Data for Name: stops; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.stops (tx_signature, operator_id, account_id, is_pause, landed_at) FROM stdin;
\.


--
-- Data for Name: sweeps; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.sweeps (network, began_at) FROM stdin;
test	2026-11-25T23:45:59.145419Z
\.


--
-- Data for Name: transfers; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.transfers (operator_id, transfer_id, network, account_id, key_id, recipient, amount_usdc, memo, idempotency_key, key_use, key_expires_unix, fingerprint, fee_payer, refusal, state, lease_holder, lease_expires_at, signed_bytes, tx_signature, last_valid_block_height, sent_at, slot, ended_at, reason, message, checks, policy_version, reopened, denial, retry_at, resource, created_at, updated_at) FROM stdin;
op_01M8AHM0XFQNE7KK6KA51K5MCM	txn_01M8AHM1X1WYA9CV9M78XMH9MA	test	acct_0139EBQF98J3EJF14VQHMEJBZV	key_01M8AHM104JV4CVRSVGA8F2XBZ	acct_0YY53799AS5AJ1TYG640SKM369	1.500000	settled	01M8AHM1WS6NSBYXT22947AD1D	1	1795736757	e16295a8ad62fe877be5d9f94c6682b0fc437b932abe34a2d57a9023995466d4	\N	\N	settled	c1c7c32e5ee49d10413885f8633ccb60	2026-11-25T23:46:12.153900Z	ATAGKRKPrlUw2iF7FrRDVGLuDcbAVnoFLLqcZiAdNFDIL7bTd2FJNIxh0uNQClB1oaNYXtr4eN2Bu7QpD7W+LgMBAAQIsZZ4lt+GIYmDt+0mZmvLeNb4YqLXdTDIDHm1fffudt1BT9rvp7TDt5Rnb2xpympz84hba5199IiC5bjTGYhEcURRVi0a1is3AFlfQl50UpYOdTgoN3tmrueF8JjpLfbrYiMZ0H4IRTnd2ir2QbLJ+8Vj8fwKkpbT+W2TK8yBzlgDBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKnAH9BYYSRYcUzfK1XvBN0klAjJ9gbZNVUuE9PgXU0a1AaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34R8/VAwQABQJeFAAABAAFBAAAEAAFBgAHAgMBBiujNMjnAaIVGgeh55SWbTQ6O0imigAAAABg4xYAAAAAAAcAAABzZXR0bGVk	xgxjfUTi5pdPuhvzWRzYPT8ybsxEdFg6UsaBRnjps1HjgdYmoR51kFZW8kyPdc5ziKshgCszfxVb2nHX4ouTfNS	183	2026-11-25T23:45:57.228123Z	82	2026-11-25T23:45:57.154000Z	\N	\N	\N	3	0	\N	\N	\N	2026-11-25T23:45:57.153900Z	2026-11-25T23:45:57.255312Z
op_01M8AHM0XFQNE7KK6KA51K5MCM	txn_01M8AHM24F5Z7DQRGJ596D5G6H	test	acct_0YY53799AS5AJ1TYG640SKM369	key_01M8AHM104JV4CVRSVGA8F2XBZ	GEJuMtEV66GCvXZpvH9fNcQ2wzCaCD9gxruKyTrwVG8b	100.000000	failed	01M8AHM1WSBACFEZYRZFC8ARC3	1	1795736757	284a475f30f8248081674ac8c03ed1717f31d74a99db23e53990c9dc2bc6a911	\N	\N	failed	c1c7c32e5ee49d10413885f8633ccb60	2026-11-25T23:46:12.391095Z	\N	\N	\N	\N	\N	2026-11-25T23:45:57.397582Z	insufficient_balance	The account holds 1.500000 USDC, which is less than 100.000000. Send it USDC at 5Px8EYT4C2ghHHsXm9NQsejNjRguErXHUChmmXVGRBBN.	\N	1	0	\N	\N	\N	2026-11-25T23:45:57.391095Z	2026-11-25T23:45:57.399025Z
op_01M8AHM0XFQNE7KK6KA51K5MCM	txn_01M8AHM21NNCN1N8T78SG16BMQ	test	acct_0139EBQF98J3EJF14VQHMEJBZV	key_01M8AHM104JV4CVRSVGA8F2XBZ	acct_0YY53799AS5AJ1TYG640SKM369	11.000000	rejected	01M8AHM1WSND391HF7AE3ACH87	1	1795736757	6a99f8680eed4be0f48d7aa2b54131cac99af4588f4cb7bfaad03766c08fca44	\N	\N	rejected	c1c7c32e5ee49d10413885f8633ccb60	2026-11-25T23:46:12.301506Z	\N	\N	\N	\N	\N	2026-11-25T23:45:57.328771Z	single_limit_exceeded	The amount 11.000000 exceeds max_single_transfer, which is 10.000000.	[{"rule":"paused"},{"rule":"require_memo"},{"rule":"allowed_counterparties"},{"rule":"max_single_transfer","broken":true,"limit":"10.000000"},{"rule":"max_daily_spend","used":"1.500000"},{"rule":"balance","limit":"48.500000"}]	3	0	1	\N	\N	2026-11-25T23:45:57.301506Z	2026-11-25T23:45:57.331872Z
op_01M8AHM0XFQNE7KK6KA51K5MCM	txn_01M8AHM239G644X3P5REY8JV66	test	acct_0139EBQF98J3EJF14VQHMEJBZV	key_01M8AHM104JV4CVRSVGA8F2XBZ	GEJuMtEV66GCvXZpvH9fNcQ2wzCaCD9gxruKyTrwVG8b	2.000000	rejected for its payee	01M8AHM1WSX43YF2MBE6G3DC2J	1	1795736757	d62d1625d69ab01cc174a815b0cb4c395478841999ee60dc296009708cb84102	\N	\N	rejected	c1c7c32e5ee49d10413885f8633ccb60	2026-11-25T23:46:12.353689Z	\N	\N	\N	\N	\N	2026-11-25T23:45:57.371804Z	recipient_not_allowed	The recipient is not among the account's allowed_counterparties.	[{"rule":"paused"},{"rule":"require_memo"},{"rule":"allowed_counterparties","broken":true},{"rule":"max_single_transfer","limit":"10.000000"},{"rule":"max_daily_spend","used":"1.500000"},{"rule":"balance","limit":"48.500000"}]	3	0	2	\N	\N	2026-11-25T23:45:57.353689Z	2026-11-25T23:45:57.376204Z
op_01M8AHM0XFQNE7KK6KA51K5MCM	txn_01M8AHM3TN00A5QBTVH2FAJCTR	test	acct_1X59SW65MWNT4BNMM8VHFZFV89	key_01M8AHM104JV4CVRSVGA8F2XBZ	GEJuMtEV66GCvXZpvH9fNcQ2wzCaCD9gxruKyTrwVG8b	3.000000	01M8AHM3TCJ0C6WCEEF2CFT5B3	01M8AHM3TCJ0C6WCEEF2CFT5B3	1	1795736758	3aab8c22b09601308507d2a8b1bd5316527aaa912a85ada3ef3b64efc6156bf5	\N	\N	signed	c1c7c32e5ee49d10413885f8633ccb60	2026-11-25T23:46:14.125809Z	AeLcA6o88o+te2n+EOH4MYnpxO8JYbVm5gz5bZXg/FZck72XymTj8GnPmil4m/Vok70iQrfQO1agQlu6y7sibwMBAAQIsZZ4lt+GIYmDt+0mZmvLeNb4YqLXdTDIDHm1fffudt3bTUYRPnfHVp5XyW43rTd6yznM5htM7vSaDfvK+UqpHuJIGN1i1+cRrALjLOkqS36PWddRMbNJFSmSLAZF0Ry0/JGE4AYK6C8Rr9+UdIgMkeBMKYFJoZ9voWPTFM+d6P4DBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAXeZfhsqqRksfrkhDDoCTGtIgP1UoYs2UVq1XwaJOXJBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKnAH9BYYSRYcUzfK1XvBN0klAjJ9gbZNVUuE9PgXU0a1AaGhZ04yAqXIUgYQWkX4L+PyhV+Rk+YzP0P+p34R9BuAwQABQK4FAAABAAFBAAAEAAFBgAHAwECBj6jNMjnAaIVGg9VABRbr1uInqkzWAAAAADAxi0AAAAAABoAAAAwMU04QUhNM1RDSjBDNldDRUVGMkNGVDVCMw==	5Y4v67rQ9GNZApaPm89ZmS6QLbGDH5iCDHsHPHYcuLRMzCwLcAfizJR8qxoP8zM8s5kjHvnJP7CAwYuGdaFWtugN	242	\N	\N	\N	\N	\N	\N	1	0	\N	\N	\N	2026-11-25T23:45:59.125809Z	2026-11-25T23:45:59.150529Z
\.


--
-- Data for Name: walks; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.walks (network, address, until_signature, until_slot, under_way, top_signature, top_slot, before_signature) FROM stdin;
test	Fm4dNSNiS72yv2gpE8AdG87CWwHCkLZG9S7jeLLoVLmT	\N	\N	f	\N	\N	\N
test	7c5zsPusbSoSYWdiZ76fcoiFUw5nRukLWCwDX4T34v6j	2PXhPo8EhvNan6djXXRdgFwjiBxDkeFrNZ5HJ7Z9eWe9SvHXHP67Djy5WYAKmQYVEsViYoTTXcVtGhGoRBW48Qyp	61	f	\N	\N	\N
test	5Px8EYT4C2ghHHsXm9NQsejNjRguErXHUChmmXVGRBBN	\N	\N	f	\N	\N	\N
test	DvyR2hjB2zcx44Sgb9BiwjMLUQSTRTFbe6jYcbG1Ggou	4gyZNvU61C3gQ7WRZsAHBeyWxxCwCXPsK9dmdiH8M9mv3hBLNsDfNDog4eGv1MJupiKqzasE7UvZkrofDmpSoQS7	89	f	\N	\N	\N
\.


--
-- Data for Name: webhook_balances; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.webhook_balances (operator_id, webhook_id, account_id, balance_usdc, read_at) FROM stdin;
\.


--
-- Data for Name: webhooks; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.webhooks (webhook_id, operator_id, url, events, account_ids, threshold_usdc, status, disabled_reason, disabled_at, secret, previous_secret, previous_until, failures, failing_since, created_at, updated_at) FROM stdin;
whk_01M8AHM1W68X82AG9DHVSSB2EC	op_01M8AHM0XFQNE7KK6KA51K5MCM	http://127.0.0.1:9/purser	["transfer.settled","policy.changed"]	[]	\N	enabled	\N	\N	IbOAQBk7NEJGf30eVqF6G5Tb0yKY4UbMn6NbApsiOvVt9hZI/WUl3VW+MWJc8y019rnipwIH1wL9lc6v6FmmSo2yC6k3WnILg5jznn4voPxPvqjRyg4STGb0	\N	\N	1	2026-11-25T23:45:57.313981Z	2026-11-25T23:45:57.126389Z	2026-11-25T23:45:57.126389Z
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

\unrestrict qd5ImSbsNw2asKhbYn12gPXFiV9QqvfWeWFLYQSdXuu9E2r3akNTd4Id8g2ZNoH

