CREATE TABLE public.batch (
    id character varying(255) NOT NULL,
    type text NOT NULL,
    name text,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    deleted_at timestamp with time zone,
    created_by character varying(50) NOT NULL,
    updated_by character varying(50) NOT NULL,
    deleted_by character varying(50),
    CONSTRAINT batch_type_check CHECK ((type = ANY (ARRAY['page_import'::text, 'code2des'::text])))
);
CREATE TABLE public.batch_item (
    id character varying(255) NOT NULL,
    batch_id character varying(255) NOT NULL,
    "position" integer NOT NULL,
    request jsonb NOT NULL,
    job_id character varying(255),
    message jsonb,
    dispatched_at timestamp with time zone,
    lease_until timestamp with time zone,
    dispatch_attempts integer DEFAULT 0 NOT NULL,
    error_message text,
    cancelled_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    deleted_at timestamp with time zone,
    created_by character varying(50) NOT NULL,
    updated_by character varying(50) NOT NULL,
    deleted_by character varying(50)
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_cost_delay='0');
CREATE TABLE public.code2des (
    id character varying(255) NOT NULL,
    batch_id character varying(255) NOT NULL,
    status text DEFAULT 'queued'::text NOT NULL,
    bucket text NOT NULL,
    object_key text NOT NULL,
    object_version text,
    file_name text NOT NULL,
    content_type text NOT NULL,
    detected_type text,
    size_bytes bigint NOT NULL,
    sha256 character varying(64) NOT NULL,
    stored_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    completed_at timestamp with time zone,
    error_code text,
    error_message text,
    result_sha256 character varying(64),
    run integer DEFAULT 1 NOT NULL,
    last_report_at timestamp with time zone,
    progress_done integer,
    progress_total integer,
    page_count integer,
    document jsonb,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    deleted_at timestamp with time zone,
    created_by character varying(50) NOT NULL,
    updated_by character varying(50) NOT NULL,
    deleted_by character varying(50),
    source_expired_at timestamp with time zone,
    result_expired_at timestamp with time zone,
    CONSTRAINT code2des_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'processing'::text, 'completed'::text, 'failed'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_cost_delay='0');
CREATE TABLE public.code2des_design (
    code2des_id character varying(255) NOT NULL,
    design jsonb NOT NULL,
    markdown_ja text NOT NULL,
    markdown_en text NOT NULL,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    deleted_at timestamp with time zone,
    created_by character varying(50) NOT NULL,
    updated_by character varying(50) NOT NULL,
    deleted_by character varying(50)
);
CREATE TABLE public.code2des_source (
    code2des_id character varying(255) NOT NULL,
    number integer NOT NULL,
    path text NOT NULL,
    content text NOT NULL,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    deleted_at timestamp with time zone,
    created_by character varying(50) NOT NULL,
    updated_by character varying(50) NOT NULL,
    deleted_by character varying(50)
);
CREATE TABLE public.delivery (
    endpoint_id character varying(255) NOT NULL,
    event_id character varying(255) NOT NULL,
    state text DEFAULT 'pending'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    due_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    lease_until timestamp with time zone,
    error text,
    ended_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    deleted_at timestamp with time zone,
    created_by character varying(50) NOT NULL,
    updated_by character varying(50) NOT NULL,
    deleted_by character varying(50),
    CONSTRAINT delivery_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_cost_delay='0');
CREATE TABLE public.delivery_attempt (
    endpoint_id character varying(255) NOT NULL,
    event_id character varying(255) NOT NULL,
    number integer NOT NULL,
    status integer,
    error text,
    duration_ms integer,
    answer text,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    deleted_at timestamp with time zone,
    created_by character varying(50) NOT NULL,
    updated_by character varying(50) NOT NULL,
    deleted_by character varying(50)
);
CREATE TABLE public.endpoint (
    id character varying(255) NOT NULL,
    url text NOT NULL,
    event_types text[] NOT NULL,
    description text,
    language text NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    disabled_at timestamp with time zone,
    disabled_reason text,
    secret text NOT NULL,
    previous_secret text,
    previous_until timestamp with time zone,
    failing_since timestamp with time zone,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    deleted_at timestamp with time zone,
    created_by character varying(50) NOT NULL,
    updated_by character varying(50) NOT NULL,
    deleted_by character varying(50),
    CONSTRAINT endpoint_disabled_reason_check CHECK ((disabled_reason = ANY (ARRAY['owner'::text, 'gone'::text, 'failing'::text]))),
    CONSTRAINT endpoint_language_check CHECK ((language = ANY (ARRAY['ja'::text, 'en'::text])))
);
CREATE TABLE public.idempotency_key (
    subject character varying(50) NOT NULL,
    key character varying(255) NOT NULL,
    owner_token character varying(255) NOT NULL,
    lease_until timestamp with time zone,
    fingerprint character varying(64),
    response jsonb,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    deleted_at timestamp with time zone,
    created_by character varying(50) NOT NULL,
    updated_by character varying(50) NOT NULL,
    deleted_by character varying(50)
);
CREATE TABLE public.job_event (
    id character varying(255) NOT NULL,
    batch_id character varying(255) NOT NULL,
    child_id character varying(255) NOT NULL,
    run integer NOT NULL,
    component character varying(50) NOT NULL,
    event text NOT NULL,
    from_status text,
    to_status text NOT NULL,
    detail text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    deleted_at timestamp with time zone,
    created_by character varying(50) NOT NULL,
    updated_by character varying(50) NOT NULL,
    deleted_by character varying(50)
);
CREATE TABLE public.outgoing_event (
    id character varying(255) NOT NULL,
    type text NOT NULL,
    occurred_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    snapshot jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    deleted_at timestamp with time zone,
    created_by character varying(50) NOT NULL,
    updated_by character varying(50) NOT NULL,
    deleted_by character varying(50)
);
CREATE TABLE public.page (
    page_import_id character varying(255) NOT NULL,
    number integer NOT NULL,
    text text NOT NULL,
    markdown text NOT NULL,
    tables jsonb NOT NULL,
    warnings jsonb NOT NULL,
    width double precision,
    height double precision,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    deleted_at timestamp with time zone,
    created_by character varying(50) NOT NULL,
    updated_by character varying(50) NOT NULL,
    deleted_by character varying(50),
    image jsonb,
    source character varying(10) DEFAULT 'text'::character varying NOT NULL,
    confidence double precision
);
CREATE TABLE public.page_import (
    id character varying(255) NOT NULL,
    batch_id character varying(255) NOT NULL,
    status text DEFAULT 'queued'::text NOT NULL,
    bucket text NOT NULL,
    object_key text NOT NULL,
    object_version text,
    file_name text NOT NULL,
    content_type text NOT NULL,
    detected_type text,
    size_bytes bigint NOT NULL,
    sha256 character varying(64) NOT NULL,
    stored_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    completed_at timestamp with time zone,
    error_code text,
    error_message text,
    result_sha256 character varying(64),
    run integer DEFAULT 1 NOT NULL,
    last_report_at timestamp with time zone,
    progress_done integer,
    progress_total integer,
    page_count integer,
    document jsonb,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    deleted_at timestamp with time zone,
    created_by character varying(50) NOT NULL,
    updated_by character varying(50) NOT NULL,
    deleted_by character varying(50),
    source_expired_at timestamp with time zone,
    result_expired_at timestamp with time zone,
    CONSTRAINT page_import_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'processing'::text, 'completed'::text, 'failed'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_cost_delay='0');
CREATE TABLE public.process_status (
    name character varying(255) NOT NULL,
    kind text NOT NULL,
    data jsonb NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    deleted_at timestamp with time zone,
    created_by character varying(50),
    updated_by character varying(50) NOT NULL,
    deleted_by character varying(50)
);
CREATE TABLE public.schema_migration (
    id integer NOT NULL,
    name character varying(255) NOT NULL,
    applied timestamp without time zone NOT NULL
);
CREATE SEQUENCE public.schema_migration_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.schema_migration_id_seq OWNED BY public.schema_migration.id;
CREATE TABLE public.session (
    token_hash character varying(64) NOT NULL,
    subject character varying(50) NOT NULL,
    username text NOT NULL,
    csrf_seed character varying(64) NOT NULL,
    idle_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    deleted_at timestamp with time zone,
    created_by character varying(50) NOT NULL,
    updated_by character varying(50) NOT NULL,
    deleted_by character varying(50)
);
CREATE TABLE public.upload (
    id character varying(255) NOT NULL,
    file_name text NOT NULL,
    content_type text NOT NULL,
    size_bytes bigint NOT NULL,
    sha256 character varying(64) NOT NULL,
    object_version text,
    verified_at timestamp with time zone,
    used_at timestamp with time zone,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    deleted_at timestamp with time zone,
    created_by character varying(50) NOT NULL,
    updated_by character varying(50) NOT NULL,
    deleted_by character varying(50)
);
ALTER TABLE ONLY public.schema_migration ALTER COLUMN id SET DEFAULT nextval('public.schema_migration_id_seq'::regclass);
ALTER TABLE ONLY public.batch_item
    ADD CONSTRAINT batch_item_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.batch
    ADD CONSTRAINT batch_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.code2des_design
    ADD CONSTRAINT code2des_design_pkey PRIMARY KEY (code2des_id);
ALTER TABLE ONLY public.code2des
    ADD CONSTRAINT code2des_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.code2des_source
    ADD CONSTRAINT code2des_source_pkey PRIMARY KEY (code2des_id, number);
ALTER TABLE ONLY public.delivery_attempt
    ADD CONSTRAINT delivery_attempt_pkey PRIMARY KEY (endpoint_id, event_id, number);
ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT delivery_pkey PRIMARY KEY (endpoint_id, event_id);
ALTER TABLE ONLY public.endpoint
    ADD CONSTRAINT endpoint_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.idempotency_key
    ADD CONSTRAINT idempotency_key_pkey PRIMARY KEY (subject, key);
ALTER TABLE ONLY public.job_event
    ADD CONSTRAINT job_event_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outgoing_event
    ADD CONSTRAINT outgoing_event_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.page_import
    ADD CONSTRAINT page_import_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.page
    ADD CONSTRAINT page_pkey PRIMARY KEY (page_import_id, number);
ALTER TABLE ONLY public.process_status
    ADD CONSTRAINT process_status_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.schema_migration
    ADD CONSTRAINT schema_migration_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (token_hash);
ALTER TABLE ONLY public.upload
    ADD CONSTRAINT upload_pkey PRIMARY KEY (id);
CREATE INDEX batch_item_batch_idx ON public.batch_item USING btree (batch_id, "position");
CREATE INDEX batch_item_differing_idx ON public.batch_item USING btree (batch_id, job_id) WHERE ((cancelled_at IS NOT NULL) OR (error_message IS NOT NULL));
CREATE INDEX batch_item_dispatch_idx ON public.batch_item USING btree (dispatched_at, lease_until);
CREATE INDEX batch_item_given_up_idx ON public.batch_item USING btree (batch_id, job_id) WHERE (error_message IS NOT NULL);
CREATE INDEX batch_item_job_idx ON public.batch_item USING btree (job_id);
CREATE INDEX batch_item_pending_idx ON public.batch_item USING btree (created_by, id) WHERE ((dispatched_at IS NULL) AND (cancelled_at IS NULL) AND (error_message IS NULL) AND (deleted_at IS NULL));
CREATE INDEX batch_subject_idx ON public.batch USING btree (created_by, created_at DESC, id DESC) WHERE (deleted_at IS NULL);
CREATE INDEX code2des_content_idx ON public.code2des USING btree (created_by, sha256) WHERE (deleted_at IS NULL);
CREATE INDEX code2des_live_idx ON public.code2des USING btree (last_report_at) WHERE (status = ANY (ARRAY['queued'::text, 'processing'::text]));
CREATE INDEX code2des_report_idx ON public.code2des USING btree (last_report_at) WHERE (last_report_at IS NOT NULL);
CREATE INDEX code2des_result_kept_idx ON public.code2des USING btree (created_at) WHERE ((result_expired_at IS NULL) AND (status = 'completed'::text));
CREATE INDEX code2des_source_kept_idx ON public.code2des USING btree (created_at) WHERE (source_expired_at IS NULL);
CREATE INDEX code2des_state_idx ON public.code2des USING btree (batch_id, status, id);
CREATE INDEX delivery_due_idx ON public.delivery USING btree (endpoint_id, due_at) WHERE (state = 'pending'::text);
CREATE INDEX delivery_event_idx ON public.delivery USING btree (event_id);
CREATE INDEX delivery_lease_idx ON public.delivery USING btree (endpoint_id, lease_until) WHERE ((state = 'pending'::text) AND (lease_until IS NOT NULL));
CREATE INDEX endpoint_subject_idx ON public.endpoint USING btree (created_by, id) WHERE (deleted_at IS NULL);
CREATE INDEX idempotency_key_created_idx ON public.idempotency_key USING btree (created_at);
CREATE INDEX job_event_child_idx ON public.job_event USING btree (child_id, created_at, id);
CREATE INDEX outgoing_event_created_idx ON public.outgoing_event USING btree (created_at);
CREATE INDEX page_import_content_idx ON public.page_import USING btree (created_by, sha256) WHERE (deleted_at IS NULL);
CREATE INDEX page_import_live_idx ON public.page_import USING btree (last_report_at) WHERE (status = ANY (ARRAY['queued'::text, 'processing'::text]));
CREATE INDEX page_import_report_idx ON public.page_import USING btree (last_report_at) WHERE (last_report_at IS NOT NULL);
CREATE INDEX page_import_result_kept_idx ON public.page_import USING btree (created_at) WHERE ((result_expired_at IS NULL) AND (status = 'completed'::text));
CREATE INDEX page_import_source_kept_idx ON public.page_import USING btree (created_at) WHERE (source_expired_at IS NULL);
CREATE INDEX page_import_state_idx ON public.page_import USING btree (batch_id, status, id);
CREATE UNIQUE INDEX schema_migration_name ON public.schema_migration USING btree (name);
CREATE INDEX session_expires_idx ON public.session USING btree (expires_at);
CREATE INDEX upload_expires_idx ON public.upload USING btree (expires_at);
ALTER TABLE ONLY public.batch_item
    ADD CONSTRAINT batch_item_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES public.batch(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.code2des
    ADD CONSTRAINT code2des_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES public.batch(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.code2des_design
    ADD CONSTRAINT code2des_design_code2des_id_fkey FOREIGN KEY (code2des_id) REFERENCES public.code2des(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.code2des_source
    ADD CONSTRAINT code2des_source_code2des_id_fkey FOREIGN KEY (code2des_id) REFERENCES public.code2des(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.delivery_attempt
    ADD CONSTRAINT delivery_attempt_endpoint_id_event_id_fkey FOREIGN KEY (endpoint_id, event_id) REFERENCES public.delivery(endpoint_id, event_id) ON DELETE CASCADE;
ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT delivery_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES public.endpoint(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT delivery_event_id_fkey FOREIGN KEY (event_id) REFERENCES public.outgoing_event(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.job_event
    ADD CONSTRAINT job_event_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES public.batch(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.page_import
    ADD CONSTRAINT page_import_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES public.batch(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.page
    ADD CONSTRAINT page_page_import_id_fkey FOREIGN KEY (page_import_id) REFERENCES public.page_import(id) ON DELETE CASCADE;
