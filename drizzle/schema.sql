-- Written by npm run migration.
create extension btree_gin;
create extension pg_trgm;

create table account_entries (
  organization_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  entry jsonb not null,
  constraint account_entries_organization_id_id_pk PRIMARY KEY (organization_id, id)
);
CREATE INDEX account_entries_user ON account_entries USING btree (user_id);

create table activities (
  organization_id uuid not null,
  id uuid not null,
  ticket_id uuid not null,
  type text not null,
  actor_type text not null,
  actor_id uuid,
  actor_name text,
  data jsonb default '{}'::jsonb not null,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  rule jsonb,
  constraint activities_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint activities_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE CASCADE,
  constraint activities_actor_type CHECK ((actor_type = ANY (ARRAY['user'::text, 'api_key'::text, 'contact'::text, 'system'::text]))) NOT VALID
);
CREATE INDEX activities_ticket ON activities USING btree (organization_id, ticket_id, id);

create table api_keys (
  organization_id uuid not null,
  id uuid not null,
  name text not null,
  prefix text not null,
  key_hash bytea not null,
  permissions text[] not null,
  allowed_networks text[] not null,
  created_by_id uuid,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint api_keys_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint api_keys_creator_fk FOREIGN KEY (organization_id, created_by_id) REFERENCES memberships(organization_id, user_id),
  constraint api_keys_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint api_keys_permissions CHECK ((cardinality(permissions) > 0))
);
CREATE UNIQUE INDEX api_keys_hash ON api_keys USING btree (key_hash);
CREATE UNIQUE INDEX api_keys_prefix ON api_keys USING btree (prefix);

create table attachments (
  organization_id uuid not null,
  id uuid not null,
  message_id uuid,
  filename text not null,
  content_type text not null,
  size bigint not null,
  digest text not null,
  storage_key text not null,
  content_id text,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  uploader_id uuid,
  draft_id uuid,
  is_by_contact boolean default false not null,
  scan text,
  constraint attachments_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint attachments_draft_fk FOREIGN KEY (organization_id, draft_id) REFERENCES drafts(organization_id, id) ON DELETE CASCADE,
  constraint attachments_message_fk FOREIGN KEY (organization_id, message_id) REFERENCES messages(organization_id, id) ON DELETE CASCADE,
  constraint attachments_scan CHECK ((scan = ANY (ARRAY['clean'::text, 'infected'::text, 'pending'::text, 'skipped'::text]))) NOT VALID,
  constraint attachments_size CHECK ((size >= 0)),
  constraint attachments_storage_key CHECK ((storage_key ~ '^attachments/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'::text))
);
CREATE INDEX attachments_draft ON attachments USING btree (organization_id, draft_id) WHERE (draft_id IS NOT NULL);
CREATE INDEX attachments_message ON attachments USING btree (organization_id, message_id, id);
CREATE INDEX attachments_pending ON attachments USING btree (organization_id, id) WHERE (scan = 'pending'::text);
CREATE INDEX attachments_storage ON attachments USING btree (storage_key);
CREATE INDEX attachments_unused ON attachments USING btree (id) WHERE (message_id IS NULL);
CREATE INDEX attachments_unused_by ON attachments USING btree (organization_id, uploader_id) WHERE (message_id IS NULL);

create table audit_log (
  organization_id uuid not null,
  id uuid not null,
  actor_type text not null,
  actor_id uuid,
  actor_name text,
  action text not null,
  resource_type text,
  resource_id uuid,
  changes jsonb,
  ip text,
  user_agent text,
  request_id text,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  constraint audit_log_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint audit_log_actor_type CHECK ((actor_type = ANY (ARRAY['user'::text, 'api_key'::text, 'operator'::text, 'system'::text]))),
  constraint audit_log_resource CHECK ((num_nulls(resource_type, resource_id) = ANY (ARRAY[0, 2])))
);
CREATE INDEX audit_log_action ON audit_log USING btree (organization_id, action, id);
CREATE INDEX audit_log_actor ON audit_log USING btree (organization_id, actor_id, id);
CREATE INDEX audit_log_age ON audit_log USING btree (created_at);
CREATE INDEX audit_log_resource ON audit_log USING btree (organization_id, resource_id, id);
CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION protect_audit_log();
CREATE TRIGGER audit_log_no_truncate BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION protect_audit_log();

create table companies (
  organization_id uuid not null,
  id uuid not null,
  name text not null,
  domains text[] default '{}'::text[] not null,
  hourly_rate numeric,
  currency text,
  ticket_prefix text,
  notes text,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  updated_at timestamp with time zone default now() not null,
  external_id text,
  custom jsonb default '{}'::jsonb not null,
  custom_words uuid[],
  constraint companies_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint companies_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint companies_currency CHECK ((currency ~ '^[A-Z]{3}$'::text)),
  constraint companies_domains_count CHECK ((cardinality(domains) <= 20)),
  constraint companies_hourly_rate CHECK (((hourly_rate >= (0)::numeric) AND (hourly_rate <= (1000000)::numeric))),
  constraint companies_ticket_prefix CHECK ((ticket_prefix ~ '^[A-Z][A-Z0-9]{0,9}$'::text))
);
CREATE INDEX companies_custom ON companies USING gin (custom_words) WHERE (custom_words IS NOT NULL);
CREATE INDEX companies_domains ON companies USING gin (organization_id, domains);
CREATE UNIQUE INDEX companies_external_id ON companies USING btree (organization_id, external_id) WHERE (external_id IS NOT NULL);

create table contact_addresses (
  organization_id uuid not null,
  email_key text not null,
  contact_id uuid not null,
  email text not null,
  "position" integer default 0 not null,
  constraint contact_addresses_organization_id_email_key_pk PRIMARY KEY (organization_id, email_key),
  constraint contact_addresses_contact_fk FOREIGN KEY (organization_id, contact_id) REFERENCES contacts(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX contact_addresses_contact ON contact_addresses USING btree (organization_id, contact_id);

create table contact_tokens (
  organization_id uuid not null,
  id uuid not null,
  contact_id uuid not null,
  token_hash bytea not null,
  scope text not null,
  api_key_id uuid,
  user_id uuid,
  expires_at timestamp with time zone not null,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  constraint contact_tokens_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint contact_tokens_contact_fk FOREIGN KEY (organization_id, contact_id) REFERENCES contacts(organization_id, id) ON DELETE CASCADE,
  constraint contact_tokens_maker CHECK ((num_nulls(api_key_id, user_id) = 1)),
  constraint contact_tokens_scope CHECK ((scope = ANY (ARRAY['own'::text, 'company'::text])))
);
CREATE INDEX contact_tokens_contact ON contact_tokens USING btree (organization_id, contact_id);
CREATE INDEX contact_tokens_expiry ON contact_tokens USING btree (expires_at);
CREATE UNIQUE INDEX contact_tokens_hash ON contact_tokens USING btree (organization_id, token_hash);

create table contacts (
  organization_id uuid not null,
  id uuid not null,
  name text not null,
  email text not null,
  phone text,
  company_id uuid,
  notes text,
  search text not null,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  updated_at timestamp with time zone default now() not null,
  email_key text not null,
  external_id text,
  custom jsonb default '{}'::jsonb not null,
  custom_words uuid[],
  deed_id uuid,
  constraint contacts_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint contacts_company_fk FOREIGN KEY (organization_id, company_id) REFERENCES companies(organization_id, id) ON DELETE SET NULL (company_id),
  constraint contacts_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id)
);
CREATE INDEX contacts_company ON contacts USING btree (organization_id, company_id, id);
CREATE INDEX contacts_custom ON contacts USING gin (custom_words) WHERE (custom_words IS NOT NULL);
CREATE UNIQUE INDEX contacts_email ON contacts USING btree (organization_id, email_key);
CREATE UNIQUE INDEX contacts_external_id ON contacts USING btree (organization_id, external_id) WHERE (external_id IS NOT NULL);
CREATE INDEX contacts_list ON contacts USING btree (organization_id, id) INCLUDE (search);
CREATE INDEX contacts_name ON contacts USING btree (organization_id, lower(name), id);
CREATE INDEX contacts_search ON contacts USING gin (organization_id, search gin_trgm_ops);
CREATE INDEX contacts_updated ON contacts USING btree (organization_id, updated_at, id);
CREATE TRIGGER contacts_address_taken BEFORE INSERT ON contacts FOR EACH ROW EXECUTE FUNCTION refuse_taken_address();
CREATE TRIGGER contacts_change AFTER UPDATE OF company_id ON contacts FOR EACH ROW WHEN ((old.company_id IS DISTINCT FROM new.company_id)) EXECUTE FUNCTION tally_contacts();
CREATE TRIGGER contacts_come_and_go AFTER INSERT OR DELETE ON contacts FOR EACH ROW EXECUTE FUNCTION tally_contacts();
CREATE TRIGGER contacts_primary_address_changed AFTER UPDATE OF email, email_key ON contacts FOR EACH ROW WHEN (((old.email_key <> new.email_key) OR (old.email <> new.email))) EXECUTE FUNCTION keep_primary_address();
CREATE TRIGGER contacts_primary_address_made AFTER INSERT ON contacts FOR EACH ROW EXECUTE FUNCTION keep_primary_address();
CREATE TRIGGER contacts_search_fits BEFORE INSERT OR UPDATE OF search ON contacts FOR EACH ROW WHEN ((octet_length(new.search) > 2400)) EXECUTE FUNCTION cut_search();

create table deeds (
  organization_id uuid not null,
  id uuid not null,
  kind text not null,
  subject_id uuid not null,
  source_ids uuid[] default '{}'::uuid[] not null,
  actor_type text not null,
  actor_id uuid,
  actor_name text,
  run_at timestamp with time zone not null,
  constraint deeds_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint deeds_actor_type CHECK ((actor_type = ANY (ARRAY['user'::text, 'api_key'::text, 'contact'::text, 'system'::text]))),
  constraint deeds_kind CHECK ((kind = ANY (ARRAY['merge contacts'::text, 'erase contact'::text, 'delete contact'::text, 'delete company'::text, 'delete team'::text, 'delete mailbox'::text, 'delete label'::text, 'give company'::text, 'review promises'::text])))
);
CREATE INDEX deeds_run ON deeds USING btree (run_at);

create table deliveries (
  organization_id uuid not null,
  id uuid not null,
  webhook_id uuid not null,
  event_id uuid not null,
  event text not null,
  status text default 'pending'::text not null,
  attempts integer default 0 not null,
  response_code integer,
  response_time_ms integer,
  error text,
  next_attempt_at timestamp with time zone,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  constraint deliveries_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint deliveries_event_fk FOREIGN KEY (organization_id, event_id) REFERENCES events(organization_id, id) ON DELETE CASCADE,
  constraint deliveries_webhook_fk FOREIGN KEY (organization_id, webhook_id) REFERENCES webhooks(organization_id, id) ON DELETE CASCADE,
  constraint deliveries_attempts CHECK ((attempts >= 0)),
  constraint deliveries_status CHECK ((status = ANY (ARRAY['pending'::text, 'retrying'::text, 'success'::text, 'failed'::text, 'cancelled'::text])))
) with (fillfactor=80);
CREATE INDEX deliveries_age ON deliveries USING btree (id);
CREATE INDEX deliveries_event ON deliveries USING btree (organization_id, event_id);
CREATE INDEX deliveries_webhook ON deliveries USING btree (organization_id, webhook_id, id);

create table delivery_attempts (
  organization_id uuid not null,
  delivery_id uuid not null,
  attempt integer not null,
  started_at timestamp with time zone not null,
  response_code integer,
  response_time_ms integer not null,
  error text,
  response_head text,
  constraint delivery_attempts_organization_id_delivery_id_attempt_pk PRIMARY KEY (organization_id, delivery_id, attempt),
  constraint delivery_attempts_delivery_fk FOREIGN KEY (organization_id, delivery_id) REFERENCES deliveries(organization_id, id) ON DELETE CASCADE,
  constraint delivery_attempts_attempt CHECK ((attempt > 0))
);

create table domains (
  organization_id uuid not null,
  id uuid not null,
  domain text not null,
  challenge text not null,
  verified_at timestamp with time zone,
  verified_by text,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  constraint domains_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint domains_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint domains_verified_by CHECK ((verified_by = ANY (ARRAY['dns'::text, 'operator'::text]))),
  constraint domains_verified_complete CHECK ((num_nulls(verified_at, verified_by) = ANY (ARRAY[0, 2])))
);
CREATE UNIQUE INDEX domains_domain ON domains USING btree (organization_id, domain);

create table drafts (
  organization_id uuid not null,
  id uuid not null,
  ticket_id uuid not null,
  author_type text not null,
  author_id uuid not null,
  body text not null,
  body_html text not null,
  text text not null,
  is_internal boolean not null,
  cc text[],
  based_on uuid,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  updated_at timestamp with time zone default now() not null,
  original_ticket_id uuid,
  format text,
  written_by jsonb,
  is_taken boolean default false not null,
  send_at timestamp with time zone,
  unless_answered boolean default true not null,
  send_error text,
  quote text,
  mentions jsonb default '[]'::jsonb not null,
  constraint drafts_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint drafts_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE CASCADE,
  constraint drafts_author_type CHECK ((author_type = ANY (ARRAY['user'::text, 'api_key'::text]))),
  constraint drafts_send_error CHECK ((send_error = ANY (ARRAY['DRAFT_STALE'::text, 'USER_NOT_FOUND'::text, 'TICKET_MERGED'::text, 'INVALID_STATUS'::text, 'EMAIL_SEND_FAILED'::text, 'ATTACHMENT_INFECTED'::text])))
);
CREATE INDEX drafts_author ON drafts USING btree (organization_id, author_id, id);
CREATE INDEX drafts_ticket ON drafts USING btree (organization_id, ticket_id, id);

create table email_anchors (
  organization_id uuid not null,
  email_message_id text not null,
  ticket_id uuid not null,
  message_id uuid,
  constraint email_anchors_organization_id_email_message_id_ticket_id_pk PRIMARY KEY (organization_id, email_message_id, ticket_id),
  constraint email_anchors_message_fk FOREIGN KEY (organization_id, message_id) REFERENCES messages(organization_id, id) ON DELETE SET NULL (message_id),
  constraint email_anchors_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX email_anchors_message ON email_anchors USING btree (organization_id, message_id);
CREATE INDEX email_anchors_ticket ON email_anchors USING btree (organization_id, ticket_id);

create table event_feeds (
  organization_id uuid not null,
  epoch uuid,
  removed_place bigint default 0 not null,
  removed_until timestamp with time zone,
  constraint event_feeds_pkey PRIMARY KEY (organization_id)
);

create table event_places (
  organization_id uuid not null,
  place bigint not null,
  nth integer not null,
  event_id uuid not null,
  type text not null,
  resource_id uuid,
  ticket_id uuid,
  happened_at timestamp with time zone not null,
  began_at timestamp with time zone,
  constraint event_places_organization_id_place_nth_pk PRIMARY KEY (organization_id, place, nth)
);
CREATE INDEX event_places_age ON event_places USING btree (happened_at);
CREATE UNIQUE INDEX event_places_event ON event_places USING btree (organization_id, event_id);
CREATE INDEX event_places_long ON event_places USING btree (organization_id, place) WHERE (began_at IS NOT NULL);

create table events (
  organization_id uuid not null,
  id uuid not null,
  type text not null,
  body text not null,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  resource_id uuid,
  ticket_id uuid,
  constraint events_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint events_type CHECK ((type = ANY (ARRAY['ticket.created'::text, 'ticket.updated'::text, 'ticket.deleted'::text, 'ticket.assigned'::text, 'ticket.status_changed'::text, 'ticket.erased'::text, 'ticket.merged'::text, 'ticket.unmerged'::text, 'ticket.split'::text, 'ticket.rated'::text, 'ticket.sla_due_soon'::text, 'ticket.sla_breached'::text, 'message.created'::text, 'message.deleted'::text, 'message.email_sent'::text, 'message.email_failed'::text, 'message.email_bounced'::text, 'message.erased'::text, 'contact.created'::text, 'contact.updated'::text, 'contact.deleted'::text, 'company.created'::text, 'company.updated'::text, 'company.deleted'::text, 'label.created'::text, 'label.updated'::text, 'label.deleted'::text, 'time_entry.created'::text, 'time_entry.updated'::text, 'time_entry.deleted'::text, 'inbound_message.filed'::text, 'organization.imported'::text, 'test.ping'::text])))
);
CREATE INDEX events_age ON events USING btree (id);
CREATE CONSTRAINT TRIGGER events_place AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.type <> 'test.ping'::text)) EXECUTE FUNCTION place_event();

create table fills (
  organization_id uuid not null,
  kind text not null,
  after_id uuid,
  begun_at timestamp with time zone default now() not null,
  constraint fills_organization_id_kind_pk PRIMARY KEY (organization_id, kind),
  constraint fills_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint fills_kind CHECK ((kind = ANY (ARRAY['time_entries.company_id'::text, 'ticket_search.document'::text])))
);

create table idempotency_keys (
  organization_id uuid not null,
  user_id uuid not null,
  key_digest bytea not null,
  request_digest bytea,
  token uuid not null,
  lease_until timestamp with time zone,
  status integer,
  answer text,
  created_at timestamp with time zone default now() not null,
  constraint idempotency_keys_organization_id_user_id_key_digest_pk PRIMARY KEY (organization_id, user_id, key_digest),
  constraint idempotency_keys_answer CHECK ((num_nulls(status, answer) = ANY (ARRAY[0, 2]))),
  constraint idempotency_keys_end CHECK (((lease_until IS NOT NULL) OR (answer IS NOT NULL)))
);
CREATE INDEX idempotency_keys_age ON idempotency_keys USING btree (created_at);

create table identities (
  organization_id uuid not null,
  user_id uuid not null,
  issuer text not null,
  subject text not null,
  linked_at timestamp with time zone default now() not null,
  constraint identities_organization_id_user_id_pk PRIMARY KEY (organization_id, user_id),
  constraint identities_membership_fk FOREIGN KEY (organization_id, user_id) REFERENCES memberships(organization_id, user_id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX identities_subject ON identities USING btree (organization_id, issuer, subject);

create table identity_providers (
  organization_id uuid not null,
  id uuid not null,
  issuer text not null,
  client_id text not null,
  client_secret text,
  redirect_uris text[] default '{}'::text[] not null,
  trust_email boolean default false not null,
  provision text default 'none'::text not null,
  domains text[] default '{}'::text[] not null,
  role_claim text,
  role_values jsonb not null,
  session_seconds integer not null,
  required boolean default false not null,
  created_at timestamp with time zone default now() not null,
  updated_at timestamp with time zone default now() not null,
  constraint identity_providers_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint identity_providers_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint identity_providers_provision CHECK ((provision = ANY (ARRAY['none'::text, 'domain'::text, 'claim'::text])))
);
CREATE UNIQUE INDEX identity_providers_organization ON identity_providers USING btree (organization_id);

create table imported_rows (
  organization_id uuid not null,
  key uuid not null,
  row_id uuid not null,
  digest uuid,
  state text,
  constraint imported_rows_organization_id_key_pk PRIMARY KEY (organization_id, key),
  constraint imported_rows_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id)
);

create table inbound_fingerprints (
  organization_id uuid not null,
  fingerprint text not null,
  inbound_message_id uuid not null,
  words text[],
  from_list boolean default false not null,
  constraint inbound_fingerprints_organization_id_fingerprint_pk PRIMARY KEY (organization_id, fingerprint)
);
CREATE INDEX inbound_fingerprints_message ON inbound_fingerprints USING btree (organization_id, inbound_message_id);

create table inbound_messages (
  organization_id uuid not null,
  id uuid not null,
  mailbox_id uuid,
  mailbox_address text not null,
  recipient text not null,
  envelope_sender text,
  email_message_id text,
  from_name text,
  from_email text,
  subject text,
  size bigint not null,
  outcome text default 'pending'::text not null,
  rule text,
  ticket_id uuid,
  message_id uuid,
  storage_key text,
  received_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  remote_address text,
  helo text,
  tls boolean,
  relay_address text,
  sender_verified boolean,
  authentication jsonb,
  recipients text[] default '{}'::text[] not null,
  from_keys text[] default '{}'::text[] not null,
  to_keys text[] default '{}'::text[] not null,
  spam_score real,
  spam_by text,
  led_by text,
  constraint inbound_messages_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint inbound_messages_mailbox_fk FOREIGN KEY (organization_id, mailbox_id) REFERENCES mailboxes(organization_id, id) ON DELETE SET NULL (mailbox_id),
  constraint inbound_messages_outcome CHECK ((outcome = ANY (ARRAY['pending'::text, 'ticket'::text, 'message'::text, 'bounce'::text, 'duplicate'::text, 'own'::text, 'unmatched_bounce'::text, 'unparsed'::text, 'spam'::text]))),
  constraint inbound_messages_rule CHECK ((rule = ANY (ARRAY['in_reply_to'::text, 'references'::text, 'message_id'::text, 'reply_tag'::text, 'subject_code'::text, 'new'::text]))),
  constraint inbound_messages_spam_by CHECK ((spam_by = ANY (ARRAY['relay'::text, 'rspamd'::text, 'sender_rule'::text, 'repeat'::text]))),
  constraint inbound_messages_storage_key CHECK ((storage_key ~ '^inbound/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'::text))
);
CREATE INDEX inbound_messages_age ON inbound_messages USING btree (id) WHERE (storage_key IS NOT NULL);
CREATE INDEX inbound_messages_mailbox ON inbound_messages USING btree (organization_id, mailbox_id, id);
CREATE INDEX inbound_messages_outcome ON inbound_messages USING btree (organization_id, outcome, id);
CREATE INDEX inbound_messages_storage ON inbound_messages USING btree (storage_key);

create table inlets (
  organization_id uuid not null,
  id uuid not null,
  mailbox_id uuid not null,
  provider text not null,
  token_hash bytea not null,
  signing_key text,
  ends_at timestamp with time zone,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  constraint inlets_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint inlets_mailbox_fk FOREIGN KEY (organization_id, mailbox_id) REFERENCES mailboxes(organization_id, id) ON DELETE CASCADE,
  constraint inlets_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint inlets_provider CHECK ((provider = ANY (ARRAY['raw'::text, 'postmark'::text, 'cloudmailin'::text, 'mailgun'::text, 'sendgrid'::text])))
);
CREATE UNIQUE INDEX inlets_hash ON inlets USING btree (token_hash);
CREATE UNIQUE INDEX inlets_present ON inlets USING btree (organization_id, mailbox_id) WHERE (ends_at IS NULL);

create table invitation_letters (
  organization_id uuid not null,
  id uuid not null,
  email_key text not null,
  sent_at timestamp with time zone default now() not null,
  constraint invitation_letters_organization_id_id_pk PRIMARY KEY (organization_id, id)
);
CREATE INDEX invitation_letters_address ON invitation_letters USING btree (email_key, sent_at);
CREATE INDEX invitation_letters_organization ON invitation_letters USING btree (organization_id, sent_at);

create table invitations (
  organization_id uuid not null,
  id uuid not null,
  email text not null,
  email_key text not null,
  name text not null,
  role text not null,
  hourly_rate numeric,
  currency text,
  token_hash bytea not null,
  is_proof boolean not null,
  expires_at timestamp with time zone not null,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  constraint invitations_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint invitations_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint invitations_currency CHECK ((currency ~ '^[A-Z]{3}$'::text)),
  constraint invitations_hourly_rate CHECK (((hourly_rate >= (0)::numeric) AND (hourly_rate <= (1000000)::numeric))),
  constraint invitations_role CHECK ((role = ANY (ARRAY['admin'::text, 'agent'::text])))
);
CREATE INDEX invitations_address ON invitations USING btree (email_key);
CREATE UNIQUE INDEX invitations_email ON invitations USING btree (organization_id, email_key);
CREATE INDEX invitations_expiry ON invitations USING btree (expires_at);
CREATE UNIQUE INDEX invitations_token ON invitations USING btree (token_hash);

create table labels (
  organization_id uuid not null,
  id uuid not null,
  name text not null,
  color text not null,
  description text,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  updated_at timestamp with time zone default now() not null,
  constraint labels_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint labels_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint labels_color CHECK ((color ~ '^#[0-9A-Fa-f]{6}$'::text))
);
CREATE UNIQUE INDEX labels_name ON labels USING btree (organization_id, lower(name));

create table lane_faults (
  organization_id uuid not null,
  lane_id uuid not null,
  error text not null,
  failing_since timestamp with time zone default now() not null,
  tries integer default 1 not null,
  try_at timestamp with time zone not null,
  tried_id uuid not null,
  constraint lane_faults_organization_id_lane_id_pk PRIMARY KEY (organization_id, lane_id)
);

create table letters (
  organization_id uuid not null,
  id uuid not null,
  about_id uuid not null,
  mailbox_id uuid,
  recipient text,
  sealed_text text,
  expires_at timestamp with time zone not null,
  member_id uuid,
  news jsonb,
  closed_at timestamp with time zone,
  constraint letters_organization_id_id_pk PRIMARY KEY (organization_id, id)
);
CREATE INDEX letters_about ON letters USING btree (organization_id, about_id);
CREATE INDEX letters_expiry ON letters USING btree (expires_at);
CREATE UNIQUE INDEX letters_open ON letters USING btree (organization_id, member_id, about_id) WHERE (closed_at IS NULL);

create table macros (
  organization_id uuid not null,
  id uuid not null,
  name text not null,
  body text,
  is_internal boolean default false not null,
  changes jsonb default '{}'::jsonb not null,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  updated_at timestamp with time zone default now() not null,
  format text,
  constraint macros_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint macros_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id)
);
CREATE UNIQUE INDEX macros_name ON macros USING btree (organization_id, lower(name));

create table mailbox_sign_ins (
  organization_id uuid not null,
  id uuid not null,
  "grant" text not null,
  token_url text not null,
  client_id text not null,
  scope text,
  client_secret text,
  refresh_token text,
  access_token text,
  access_token_until timestamp with time zone,
  fetched_by uuid,
  fetched_until timestamp with time zone,
  version uuid not null,
  constraint mailbox_sign_ins_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint mailbox_sign_ins_grant CHECK (("grant" = ANY (ARRAY['client_credentials'::text, 'refresh_token'::text])))
);

create table mailboxes (
  organization_id uuid not null,
  id uuid not null,
  address text not null,
  name text,
  active boolean default true not null,
  is_default boolean default false not null,
  plus_addressing boolean default true not null,
  smtp_host text,
  smtp_port integer,
  smtp_security text,
  smtp_username text,
  smtp_password text,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  updated_at timestamp with time zone default now() not null,
  dkim_domain text,
  dkim_selector text,
  dkim_private_key text,
  verp boolean default false not null,
  address_key text not null,
  has_address boolean default true not null,
  is_smtp_by_key boolean default false not null,
  signature text,
  signature_format text,
  from_name text,
  quote text default 'none'::text not null,
  team_id uuid,
  constraint mailboxes_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint mailboxes_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint mailboxes_team_fk FOREIGN KEY (organization_id, team_id) REFERENCES teams(organization_id, id) ON DELETE SET NULL (team_id),
  constraint mailboxes_dkim_complete CHECK ((num_nulls(dkim_domain, dkim_selector, dkim_private_key) = ANY (ARRAY[0, 3]))),
  constraint mailboxes_smtp_complete CHECK ((num_nulls(smtp_host, smtp_port, smtp_security) = ANY (ARRAY[0, 3]))),
  constraint mailboxes_smtp_port CHECK (((smtp_port >= 1) AND (smtp_port <= 65535))),
  constraint mailboxes_smtp_security CHECK ((smtp_security = ANY (ARRAY['none'::text, 'starttls'::text, 'tls'::text])))
);
CREATE UNIQUE INDEX mailboxes_address ON mailboxes USING btree (address_key) WHERE has_address;
CREATE UNIQUE INDEX mailboxes_default ON mailboxes USING btree (organization_id) WHERE is_default;
CREATE UNIQUE INDEX mailboxes_own_address ON mailboxes USING btree (organization_id, address_key);

create table memberships (
  organization_id uuid not null,
  user_id uuid not null,
  role text default 'agent'::text not null,
  active boolean default true not null,
  hourly_rate numeric,
  currency text,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default now() not null,
  removed_at timestamp with time zone,
  is_imported boolean default false not null,
  available boolean default true not null,
  notify text[] default '{}'::text[] not null,
  constraint memberships_organization_id_user_id_pk PRIMARY KEY (organization_id, user_id),
  constraint memberships_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint memberships_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id),
  constraint memberships_currency CHECK ((currency ~ '^[A-Z]{3}$'::text)),
  constraint memberships_hourly_rate CHECK (((hourly_rate >= (0)::numeric) AND (hourly_rate <= (1000000)::numeric))),
  constraint memberships_role CHECK ((role = ANY (ARRAY['admin'::text, 'agent'::text])))
);
CREATE INDEX memberships_new_unassigned ON memberships USING btree (organization_id) WHERE ('new_unassigned'::text = ANY (notify));
CREATE INDEX memberships_user ON memberships USING btree (user_id, created_at);

create table merged_contacts (
  organization_id uuid not null,
  id uuid not null,
  contact_id uuid not null,
  external_id text,
  constraint merged_contacts_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint merged_contacts_contact_fk FOREIGN KEY (organization_id, contact_id) REFERENCES contacts(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX merged_contacts_contact ON merged_contacts USING btree (organization_id, contact_id);
CREATE UNIQUE INDEX merged_contacts_external_id ON merged_contacts USING btree (organization_id, external_id) WHERE (external_id IS NOT NULL);

create table message_pictures (
  organization_id uuid not null,
  message_id uuid not null,
  attachment_id uuid not null,
  constraint message_pictures_organization_id_message_id_attachment_id_pk PRIMARY KEY (organization_id, message_id, attachment_id),
  constraint message_pictures_attachment_fk FOREIGN KEY (organization_id, attachment_id) REFERENCES attachments(organization_id, id) ON DELETE CASCADE,
  constraint message_pictures_message_fk FOREIGN KEY (organization_id, message_id) REFERENCES messages(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX message_pictures_attachment ON message_pictures USING btree (organization_id, attachment_id);

create table message_quotes (
  organization_id uuid not null,
  message_id uuid not null,
  piece integer not null,
  source_id uuid not null,
  source_ticket_id uuid not null,
  contact_id uuid,
  sender_key text,
  body_length integer,
  html_length integer,
  attachment_ids uuid[] default '{}'::uuid[] not null,
  constraint message_quotes_organization_id_message_id_piece_source_id_pk PRIMARY KEY (organization_id, message_id, piece, source_id),
  constraint message_quotes_message_fk FOREIGN KEY (organization_id, message_id) REFERENCES messages(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX message_quotes_contact ON message_quotes USING btree (organization_id, contact_id) WHERE (contact_id IS NOT NULL);
CREATE INDEX message_quotes_sender ON message_quotes USING btree (organization_id, sender_key) WHERE (sender_key IS NOT NULL);
CREATE INDEX message_quotes_source ON message_quotes USING btree (organization_id, source_id);
CREATE INDEX message_quotes_ticket ON message_quotes USING btree (organization_id, source_ticket_id);

create table message_recipients (
  organization_id uuid not null,
  message_id uuid not null,
  "position" integer not null,
  kind text not null,
  name text,
  email text not null,
  status text default 'queued'::text not null,
  error text,
  email_key text not null,
  constraint message_recipients_organization_id_message_id_position_pk PRIMARY KEY (organization_id, message_id, "position"),
  constraint message_recipients_message_fk FOREIGN KEY (organization_id, message_id) REFERENCES messages(organization_id, id) ON DELETE CASCADE,
  constraint message_recipients_kind CHECK ((kind = ANY (ARRAY['to'::text, 'cc'::text]))),
  constraint message_recipients_status CHECK ((status = ANY (ARRAY['queued'::text, 'sent'::text, 'failed'::text, 'bounced'::text])))
);
CREATE INDEX message_recipients_domain ON message_recipients USING btree (organization_id, "substring"(email_key, '[^@]*$'::text), message_id);
CREATE INDEX message_recipients_email ON message_recipients USING btree (organization_id, email_key, message_id);

create table messages (
  organization_id uuid not null,
  id uuid not null,
  ticket_id uuid not null,
  body text not null,
  body_html text not null,
  reply_text text,
  is_internal boolean default false not null,
  direction text,
  sender_name text not null,
  sender_email text,
  auto_reply boolean default false not null,
  cc text[] default '{}'::text[] not null,
  email_message_id text,
  email_status text default 'none'::text not null,
  email_error text,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  sender_verified boolean,
  reply_to text,
  drafted_by jsonb,
  original_ticket_id uuid,
  channel text,
  signature_html text,
  mailbox_id uuid,
  email_attempts integer,
  server_response text,
  email_tries jsonb,
  directs_answers boolean,
  format text,
  author_id uuid,
  begins_ticket boolean default false not null,
  quoted_ids uuid[],
  mentions jsonb default '[]'::jsonb not null,
  from_list boolean default false not null,
  rule_id uuid,
  constraint messages_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint messages_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE CASCADE,
  constraint messages_channel CHECK ((channel = ANY (ARRAY['email'::text, 'api'::text, 'portal'::text]))) NOT VALID,
  constraint messages_direction CHECK ((direction = ANY (ARRAY['inbound'::text, 'outbound'::text]))),
  constraint messages_email_status CHECK ((email_status = ANY (ARRAY['none'::text, 'queued'::text, 'sent'::text, 'failed'::text, 'bounced'::text]))),
  constraint messages_note CHECK ((is_internal = (direction IS NULL)))
);
CREATE INDEX messages_mailbox ON messages USING btree (organization_id, mailbox_id, id) WHERE (mailbox_id IS NOT NULL);
CREATE INDEX messages_outbound ON messages USING btree (organization_id, id, ticket_id) WHERE (email_status <> 'none'::text);
CREATE INDEX messages_ticket ON messages USING btree (organization_id, ticket_id, id);
CREATE INDEX messages_undelivered ON messages USING btree (organization_id, email_status, id) WHERE (email_status = ANY (ARRAY['queued'::text, 'failed'::text, 'bounced'::text]));
CREATE TRIGGER messages_facts AFTER INSERT ON messages FOR EACH ROW WHEN (((new.direction = 'outbound'::text) AND (NOT new.auto_reply))) EXECUTE FUNCTION message_facts();
CREATE TRIGGER messages_go AFTER DELETE ON messages FOR EACH ROW EXECUTE FUNCTION uncount_ticket();
CREATE TRIGGER messages_move AFTER UPDATE OF ticket_id ON messages FOR EACH ROW WHEN ((old.ticket_id IS DISTINCT FROM new.ticket_id)) EXECUTE FUNCTION uncount_ticket();
CREATE TRIGGER messages_of_older_releases AFTER INSERT ON messages FOR EACH ROW WHEN ((new.format IS NULL)) EXECUTE FUNCTION uncount_ticket();

create table organizations (
  id uuid not null,
  number integer not null,
  name text not null,
  ticket_prefix text default 'TKT'::text not null,
  hourly_rate numeric,
  currency text default 'USD'::text not null,
  reopen_on_reply boolean default true not null,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  updated_at timestamp with time zone default now() not null,
  sender_policy text default 'flag'::text not null,
  form_senders text[] default '{}'::text[] not null,
  require_second_factor boolean default false not null,
  portal_origins text[] default '{}'::text[] not null,
  spam_policy text default 'hold'::text not null,
  time_zone text default 'UTC'::text not null,
  ask_rating_after_minutes integer,
  constraint organizations_pkey PRIMARY KEY (id),
  constraint organizations_currency CHECK ((currency ~ '^[A-Z]{3}$'::text)),
  constraint organizations_hourly_rate CHECK (((hourly_rate >= (0)::numeric) AND (hourly_rate <= (1000000)::numeric))),
  constraint organizations_sender_policy CHECK ((sender_policy = ANY (ARRAY['flag'::text, 'restrict'::text]))),
  constraint organizations_spam_policy CHECK ((spam_policy = ANY (ARRAY['hold'::text, 'mark'::text]))),
  constraint organizations_ticket_prefix CHECK ((ticket_prefix ~ '^[A-Z][A-Z0-9]{0,9}$'::text))
);

create table outbox (
  organization_id uuid not null,
  id uuid not null,
  kind text not null,
  lane_id uuid not null,
  run_at timestamp with time zone default now() not null,
  lease_until timestamp with time zone default '-infinity'::timestamp with time zone not null,
  lease_token uuid,
  attempts integer default 0 not null,
  claims integer default 0 not null,
  traceparent text,
  queued_at timestamp with time zone default now() not null,
  place bigint,
  nth integer,
  constraint outbox_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint outbox_counts CHECK (((attempts >= 0) AND (claims >= 0))),
  constraint outbox_kind CHECK ((kind = ANY (ARRAY['webhook'::text, 'email'::text, 'inbound'::text, 'letter'::text, 'wake'::text, 'draft'::text, 'rule'::text, 'promise'::text])))
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0, vacuum_truncate=off);
CREATE INDEX outbox_due ON outbox USING btree (kind, run_at);
CREATE INDEX outbox_lane ON outbox USING btree (lane_id, run_at);
CREATE INDEX outbox_waiting ON outbox USING btree (lane_id, place, nth) WHERE (run_at = 'infinity'::timestamp with time zone);
CREATE TRIGGER outbox_mail_in_turn BEFORE DELETE ON outbox FOR EACH ROW WHEN ((old.kind = 'inbound'::text)) EXECUTE FUNCTION file_in_turn();

create table participants (
  organization_id uuid not null,
  id uuid not null,
  ticket_id uuid not null,
  name text,
  email text not null,
  contact_id uuid,
  confirmed boolean default true not null,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  email_key text not null,
  original_ticket_id uuid,
  was_listed boolean default false not null,
  left_out boolean default false not null,
  constraint participants_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint participants_contact_fk FOREIGN KEY (organization_id, contact_id) REFERENCES contacts(organization_id, id) ON DELETE SET NULL (contact_id),
  constraint participants_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX participants_contact ON participants USING btree (organization_id, contact_id);
CREATE UNIQUE INDEX participants_email ON participants USING btree (organization_id, ticket_id, email_key);

create table password_resets (
  id uuid not null,
  user_id uuid not null,
  organization_id uuid,
  token_hash bytea not null,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  constraint password_resets_pkey PRIMARY KEY (id),
  constraint password_resets_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX password_resets_expiry ON password_resets USING btree (expires_at);
CREATE UNIQUE INDEX password_resets_token ON password_resets USING btree (token_hash);
CREATE INDEX password_resets_user ON password_resets USING btree (user_id);

create table promises (
  organization_id uuid not null,
  id uuid not null,
  ticket_id uuid not null,
  policy_id uuid not null,
  metric text not null,
  minutes integer not null,
  began_at timestamp with time zone not null,
  due_at timestamp with time zone,
  soon_at timestamp with time zone,
  breached_at timestamp with time zone,
  ended_at timestamp with time zone,
  outcome text,
  is_soon_told boolean default false not null,
  is_breach_told boolean default false not null,
  constraint promises_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint promises_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE CASCADE,
  constraint promises_end CHECK (((ended_at IS NULL) = (outcome IS NULL))),
  constraint promises_metric CHECK ((metric = ANY (ARRAY['first_reply'::text, 'next_reply'::text, 'resolve'::text]))),
  constraint promises_outcome CHECK ((outcome = ANY (ARRAY['kept'::text, 'breached'::text, 'void'::text])))
);
CREATE INDEX promises_breached ON promises USING btree (organization_id, breached_at) WHERE (breached_at IS NOT NULL);
CREATE INDEX promises_ended ON promises USING btree (organization_id, ended_at) WHERE (ended_at IS NOT NULL);
CREATE UNIQUE INDEX promises_ticket ON promises USING btree (organization_id, ticket_id, metric, began_at);
CREATE TRIGGER promises_facts_change AFTER UPDATE OF breached_at, ended_at, outcome ON promises FOR EACH ROW WHEN ((((old.breached_at IS DISTINCT FROM new.breached_at) OR (old.ended_at IS DISTINCT FROM new.ended_at)) OR (old.outcome IS DISTINCT FROM new.outcome))) EXECUTE FUNCTION promise_facts();
CREATE TRIGGER promises_facts_come AFTER INSERT ON promises FOR EACH ROW WHEN (((new.outcome IS NOT NULL) OR (new.breached_at IS NOT NULL))) EXECUTE FUNCTION promise_facts();
CREATE TRIGGER promises_facts_go AFTER DELETE ON promises FOR EACH ROW EXECUTE FUNCTION promise_facts();

create table provider_tokens (
  organization_id uuid not null,
  kind text not null,
  token_hash bytea not null,
  data jsonb not null,
  expires_at timestamp with time zone not null,
  constraint provider_tokens_organization_id_kind_token_hash_pk PRIMARY KEY (organization_id, kind, token_hash),
  constraint provider_tokens_kind CHECK ((kind = ANY (ARRAY['state'::text, 'code'::text, 'logout'::text])))
);
CREATE INDEX provider_tokens_expiry ON provider_tokens USING btree (expires_at);

create table rating_requests (
  organization_id uuid not null,
  id uuid not null,
  ticket_id uuid not null,
  is_automatic boolean not null,
  sent_at timestamp with time zone,
  contact_id uuid,
  constraint rating_requests_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint rating_requests_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX rating_requests_ticket ON rating_requests USING btree (organization_id, ticket_id);

create table read_marks (
  organization_id uuid not null,
  ticket_id uuid not null,
  user_id uuid not null,
  message_id uuid,
  marked_at timestamp with time zone default now() not null,
  unread boolean not null,
  constraint read_marks_organization_id_ticket_id_user_id_pk PRIMARY KEY (organization_id, ticket_id, user_id),
  constraint read_marks_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX read_marks_person ON read_marks USING btree (organization_id, user_id, unread, ticket_id);

create table refresh_tokens (
  token_hash bytea not null,
  user_id uuid not null,
  expires_at timestamp with time zone not null,
  created_at timestamp with time zone default now() not null,
  id uuid default gen_random_uuid() not null,
  last_used_at timestamp with time zone,
  ip text,
  user_agent text,
  signed_out_at timestamp with time zone,
  provider_organization_id uuid,
  provider_subject text,
  provider_sid text,
  constraint refresh_tokens_pkey PRIMARY KEY (token_hash),
  constraint refresh_tokens_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX refresh_tokens_expiry ON refresh_tokens USING btree (expires_at);
CREATE UNIQUE INDEX refresh_tokens_id ON refresh_tokens USING btree (id);
CREATE INDEX refresh_tokens_provider ON refresh_tokens USING btree (provider_organization_id, provider_subject) WHERE (provider_organization_id IS NOT NULL);
CREATE INDEX refresh_tokens_user ON refresh_tokens USING btree (user_id);

create table refused_messages (
  organization_id uuid not null,
  id uuid not null,
  recipient text not null,
  envelope_sender text not null,
  from_keys text[] not null,
  to_keys text[] not null,
  smtp_reply text not null,
  remote_address text not null,
  helo text,
  tls boolean not null,
  received_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  constraint refused_messages_organization_id_id_pk PRIMARY KEY (organization_id, id)
);

create table released_addresses (
  organization_id uuid not null,
  address_key text not null,
  released_at timestamp with time zone default now() not null,
  constraint released_addresses_organization_id_address_key_pk PRIMARY KEY (organization_id, address_key),
  constraint released_addresses_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id)
);
CREATE INDEX released_addresses_key ON released_addresses USING btree (address_key);

create table retention (
  organization_id uuid not null,
  rules jsonb default '[]'::jsonb not null,
  hold_label_ids uuid[] default '{}'::uuid[] not null,
  changed_at timestamp with time zone default now() not null,
  applied_at timestamp with time zone,
  constraint retention_organization_id_pk PRIMARY KEY (organization_id)
);

create table retention_erasures (
  organization_id uuid not null,
  id uuid not null,
  ids uuid[] not null,
  constraint retention_erasures_organization_id_id_pk PRIMARY KEY (organization_id, id)
);

create table rule_runs (
  organization_id uuid not null,
  id uuid not null,
  ticket_id uuid not null,
  rule_ids uuid[] not null,
  message_id uuid,
  tries integer default 0 not null,
  constraint rule_runs_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint rule_runs_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE CASCADE,
  constraint rule_runs_rules CHECK ((cardinality(rule_ids) > 0))
);
CREATE INDEX rule_runs_ticket ON rule_runs USING btree (organization_id, ticket_id);

create table rules (
  organization_id uuid not null,
  id uuid not null,
  name text not null,
  "on" text not null,
  filter jsonb,
  macro_id uuid,
  active boolean default true not null,
  status text default 'active'::text not null,
  failed_ticket_ids uuid[] default '{}'::uuid[] not null,
  failure_told_at timestamp with time zone,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  updated_at timestamp with time zone default now() not null,
  constraint rules_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint rules_macro_fk FOREIGN KEY (organization_id, macro_id) REFERENCES macros(organization_id, id) ON DELETE RESTRICT,
  constraint rules_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint rules_has_macro CHECK (((macro_id IS NOT NULL) OR (NOT active))),
  constraint rules_status CHECK ((status = ANY (ARRAY['active'::text, 'failed'::text])))
);
CREATE INDEX rules_macro ON rules USING btree (organization_id, macro_id);
CREATE UNIQUE INDEX rules_name ON rules USING btree (organization_id, lower(name));

create table schedules (
  organization_id uuid not null,
  id uuid not null,
  name text not null,
  hours jsonb not null,
  holidays jsonb default '[]'::jsonb not null,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  updated_at timestamp with time zone default now() not null,
  constraint schedules_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint schedules_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id)
);
CREATE UNIQUE INDEX schedules_name ON schedules USING btree (organization_id, lower(name));

create table second_factors (
  id uuid not null,
  secret text not null,
  made_at timestamp with time zone default now() not null,
  confirmed_at timestamp with time zone,
  last_step integer,
  recovery_codes text[] default '{}'::text[] not null,
  constraint second_factors_pkey PRIMARY KEY (id),
  constraint second_factors_id_users_id_fk FOREIGN KEY (id) REFERENCES users(id) ON DELETE CASCADE
);

create table sender_rules (
  organization_id uuid not null,
  id uuid not null,
  sender text not null,
  sender_key text not null,
  action text not null,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  constraint sender_rules_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint sender_rules_action CHECK ((action = ANY (ARRAY['block'::text, 'allow'::text])))
);
CREATE UNIQUE INDEX sender_rules_sender ON sender_rules USING btree (organization_id, sender_key);

create table sign_in_challenges (
  token_hash bytea not null,
  user_id uuid not null,
  wrong_codes integer default 0 not null,
  expires_at timestamp with time zone not null,
  constraint sign_in_challenges_pkey PRIMARY KEY (token_hash),
  constraint sign_in_challenges_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX sign_in_challenges_expiry ON sign_in_challenges USING btree (expires_at);
CREATE INDEX sign_in_challenges_user ON sign_in_challenges USING btree (user_id);

create table sla_policies (
  organization_id uuid not null,
  id uuid not null,
  name text not null,
  "position" integer not null,
  filter jsonb default '{}'::jsonb not null,
  schedule_id uuid,
  targets jsonb not null,
  active boolean default true not null,
  failure_told_at timestamp with time zone,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  updated_at timestamp with time zone default now() not null,
  constraint sla_policies_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint sla_policies_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint sla_policies_schedule_fk FOREIGN KEY (organization_id, schedule_id) REFERENCES schedules(organization_id, id) ON DELETE SET NULL (schedule_id)
);
CREATE UNIQUE INDEX sla_policies_name ON sla_policies USING btree (organization_id, lower(name));
CREATE UNIQUE INDEX sla_policies_position ON sla_policies USING btree (organization_id, "position");

create table stats (
  organization_id uuid not null,
  size_s integer not null,
  at timestamp with time zone not null,
  mail_tickets bigint default 0 not null,
  mail_messages bigint default 0 not null,
  mail_bounces bigint default 0 not null,
  mail_others bigint default 0 not null,
  emails_sent bigint default 0 not null,
  emails_failed bigint default 0 not null,
  emails_bounced bigint default 0 not null,
  deliveries_ok bigint default 0 not null,
  deliveries_failed bigint default 0 not null,
  delivery_ms bigint default 0 not null,
  requests_ok bigint default 0 not null,
  requests_refused bigint default 0 not null,
  requests_failed bigint default 0 not null,
  constraint stats_organization_id_size_s_at_pk PRIMARY KEY (organization_id, size_s, at)
);

create table storage_removals (
  storage_key text not null,
  due_at timestamp with time zone default now() not null,
  constraint storage_removals_pkey PRIMARY KEY (storage_key),
  constraint storage_removals_storage_key CHECK ((storage_key ~ '^(attachments|inbound)/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'::text))
);
CREATE INDEX storage_removals_due ON storage_removals USING btree (due_at);

create table taken_requests (
  organization_id uuid not null,
  request_digest bytea not null,
  mail_digest bytea not null,
  inbound_message_id uuid not null,
  expires_at timestamp with time zone not null,
  constraint taken_requests_once PRIMARY KEY (organization_id, request_digest)
);
CREATE INDEX taken_requests_expiry ON taken_requests USING btree (expires_at);

create table tallies (
  organization_id uuid not null,
  kind text not null,
  key uuid not null,
  status text,
  n integer not null,
  constraint tallies_key UNIQUE NULLS NOT DISTINCT (organization_id, kind, key, status),
  constraint tallies_kind CHECK ((kind = ANY (ARRAY['tickets'::text, 'tickets_of_contact'::text, 'tickets_of_company'::text, 'tickets_of_label'::text, 'tickets_of_custom'::text, 'tickets_of_day'::text, 'contacts_of_company'::text])))
) with (fillfactor=80, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000);

create table tally_changes (
  organization_id uuid not null,
  id bigint not null,
  kind text not null,
  key uuid not null,
  status text,
  n integer not null,
  constraint tally_changes_organization_id_kind_key_id_pk PRIMARY KEY (organization_id, kind, key, id)
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0, vacuum_truncate=off);

create table team_members (
  organization_id uuid not null,
  team_id uuid not null,
  user_id uuid not null,
  turn bigint default 0 not null,
  constraint team_members_organization_id_team_id_user_id_pk PRIMARY KEY (organization_id, team_id, user_id),
  constraint team_members_team_fk FOREIGN KEY (organization_id, team_id) REFERENCES teams(organization_id, id) ON DELETE CASCADE,
  constraint team_members_user_fk FOREIGN KEY (organization_id, user_id) REFERENCES memberships(organization_id, user_id)
);
CREATE INDEX team_members_user ON team_members USING btree (organization_id, user_id);

create table teams (
  organization_id uuid not null,
  id uuid not null,
  name text not null,
  assign text default 'none'::text not null,
  capacity integer,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  updated_at timestamp with time zone default now() not null,
  constraint teams_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint teams_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint teams_assign CHECK ((assign = ANY (ARRAY['none'::text, 'round_robin'::text, 'least_open'::text]))),
  constraint teams_capacity CHECK ((capacity > 0))
);
CREATE UNIQUE INDEX teams_name ON teams USING btree (organization_id, lower(name));

create table ticket_count_changes (
  organization_id uuid not null,
  id bigint not null,
  status text not null,
  priority text not null,
  assignee_id uuid,
  n integer not null,
  constraint ticket_count_changes_organization_id_id_pk PRIMARY KEY (organization_id, id)
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0, vacuum_truncate=off);

create table ticket_counters (
  organization_id uuid not null,
  next_number integer default 1 not null,
  constraint ticket_counters_pkey PRIMARY KEY (organization_id),
  constraint ticket_counters_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id)
) with (fillfactor=20);

create table ticket_counts (
  organization_id uuid not null,
  status text not null,
  priority text not null,
  assignee_id uuid,
  n integer not null,
  constraint ticket_counts_kind UNIQUE NULLS NOT DISTINCT (organization_id, status, priority, assignee_id),
  constraint ticket_counts_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id)
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000);

create table ticket_fact_fills (
  organization_id uuid not null,
  before_id uuid not null,
  constraint ticket_fact_fills_pkey PRIMARY KEY (organization_id),
  constraint ticket_fact_fills_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id)
);

create table ticket_facts (
  organization_id uuid not null,
  at timestamp with time zone not null,
  id bigint not null,
  ticket_id uuid not null,
  kind text not null,
  seconds integer,
  user_id uuid,
  promise_id uuid,
  hidden boolean not null,
  assignee_id uuid,
  team_id uuid,
  mailbox_id uuid,
  company_id uuid,
  priority text not null,
  label_ids uuid[] default '{}'::uuid[] not null,
  sla_policy_id uuid,
  constraint ticket_facts_organization_id_at_id_pk PRIMARY KEY (organization_id, at, id),
  constraint ticket_facts_kind CHECK ((kind = ANY (ARRAY['created'::text, 'began'::text, 'replied'::text, 'resolved'::text, 'reopened'::text, 'kept'::text, 'breached'::text, 'good'::text, 'bad'::text])))
) with (fillfactor=90, autovacuum_vacuum_insert_scale_factor=0.02);
CREATE INDEX ticket_facts_ticket ON ticket_facts USING btree (organization_id, ticket_id);

create table ticket_labels (
  organization_id uuid not null,
  ticket_id uuid not null,
  label_id uuid not null,
  constraint ticket_labels_organization_id_ticket_id_label_id_pk PRIMARY KEY (organization_id, ticket_id, label_id),
  constraint ticket_labels_label_fk FOREIGN KEY (organization_id, label_id) REFERENCES labels(organization_id, id) ON DELETE CASCADE,
  constraint ticket_labels_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX ticket_labels_label ON ticket_labels USING btree (organization_id, label_id, ticket_id);
CREATE TRIGGER ticket_labels_come AFTER INSERT ON ticket_labels REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tally_labels();
CREATE TRIGGER ticket_labels_facets_come AFTER INSERT ON ticket_labels REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION change_label_facets();
CREATE TRIGGER ticket_labels_facets_go AFTER DELETE ON ticket_labels REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION change_label_facets();
CREATE TRIGGER ticket_labels_facts_come AFTER INSERT ON ticket_labels REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION label_facts();
CREATE TRIGGER ticket_labels_facts_go AFTER DELETE ON ticket_labels REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION label_facts();
CREATE TRIGGER ticket_labels_go AFTER DELETE ON ticket_labels REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tally_labels();

create table ticket_search (
  organization_id uuid not null,
  ticket_id uuid not null,
  document tsvector storage external not null,
  size integer not null,
  constraint ticket_search_organization_id_ticket_id_pk PRIMARY KEY (organization_id, ticket_id),
  constraint ticket_search_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE CASCADE
) with (toast_tuple_target=8160);
CREATE INDEX ticket_search_document ON ticket_search USING gin (document) WITH (fastupdate='on', gin_pending_list_limit='256');
CREATE TRIGGER ticket_search_in_block AFTER INSERT OR UPDATE OF document ON ticket_search FOR EACH ROW WHEN ((pg_trigger_depth() = 0)) EXECUTE FUNCTION put_in_block();

create table tickets (
  organization_id uuid not null,
  id uuid not null,
  number integer not null,
  code text not null,
  subject text not null,
  status text default 'open'::text not null,
  priority text default 'normal'::text not null,
  contact_id uuid,
  company_id uuid,
  assignee_id uuid,
  mailbox_id uuid,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  updated_at timestamp with time zone default now() not null,
  deleted_at timestamp with time zone,
  purged_at timestamp with time zone,
  merged_into_id uuid,
  merged_first_into_id uuid,
  merged_at timestamp with time zone,
  status_before_merge text,
  split_from_id uuid,
  external_id text,
  custom jsonb default '{}'::jsonb not null,
  custom_words uuid[],
  erased_at timestamp with time zone,
  parent_id uuid,
  last_message_id uuid,
  waiting_message_id uuid,
  message_count integer,
  attachment_count integer,
  snoozed_until timestamp with time zone,
  team_id uuid,
  rating_score text,
  rating_comment text,
  rated_at timestamp with time zone,
  sla_policy_id uuid,
  sla_metric text,
  sla_due_at timestamp with time zone,
  sla_soon_at timestamp with time zone,
  sla_from timestamp with time zone,
  constraint tickets_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint tickets_number UNIQUE (organization_id, number),
  constraint tickets_assignee_fk FOREIGN KEY (organization_id, assignee_id) REFERENCES memberships(organization_id, user_id),
  constraint tickets_company_fk FOREIGN KEY (organization_id, company_id) REFERENCES companies(organization_id, id) ON DELETE SET NULL (company_id),
  constraint tickets_contact_fk FOREIGN KEY (organization_id, contact_id) REFERENCES contacts(organization_id, id) ON DELETE SET NULL (contact_id),
  constraint tickets_mailbox_fk FOREIGN KEY (organization_id, mailbox_id) REFERENCES mailboxes(organization_id, id) ON DELETE SET NULL (mailbox_id),
  constraint tickets_team_fk FOREIGN KEY (organization_id, team_id) REFERENCES teams(organization_id, id) ON DELETE SET NULL (team_id),
  constraint tickets_number_positive CHECK ((number > 0)),
  constraint tickets_priority CHECK ((priority = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text, 'urgent'::text]))),
  constraint tickets_rating_score CHECK ((rating_score = ANY (ARRAY['good'::text, 'bad'::text]))),
  constraint tickets_status CHECK ((status = ANY (ARRAY['open'::text, 'pending'::text, 'resolved'::text, 'closed'::text])))
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_analyze_scale_factor=0.02);
CREATE INDEX tickets_assignee ON tickets USING btree (organization_id, assignee_id, status, id) WHERE (deleted_at IS NULL);
CREATE INDEX tickets_assignee_news ON tickets USING btree (organization_id, assignee_id, last_message_id, id) WHERE (deleted_at IS NULL);
CREATE INDEX tickets_company ON tickets USING btree (organization_id, company_id, id) WHERE (deleted_at IS NULL);
CREATE INDEX tickets_contact ON tickets USING btree (organization_id, contact_id, id) WHERE (deleted_at IS NULL);
CREATE INDEX tickets_deleted ON tickets USING btree (deleted_at) WHERE ((deleted_at IS NOT NULL) AND (purged_at IS NULL));
CREATE INDEX tickets_due_at_asc ON tickets USING btree (organization_id, COALESCE(sla_due_at, 'infinity'::timestamp with time zone), id) WHERE (deleted_at IS NULL);
CREATE INDEX tickets_due_at_desc ON tickets USING btree (organization_id, COALESCE(sla_due_at, '-infinity'::timestamp with time zone), id) WHERE (deleted_at IS NULL);
CREATE UNIQUE INDEX tickets_external_id ON tickets USING btree (organization_id, external_id) WHERE ((external_id IS NOT NULL) AND (deleted_at IS NULL));
CREATE INDEX tickets_last_message_at_asc ON tickets USING btree (organization_id, COALESCE(last_message_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid), id) WHERE (deleted_at IS NULL);
CREATE INDEX tickets_last_message_at_desc ON tickets USING btree (organization_id, COALESCE(last_message_id, '00000000-0000-0000-0000-000000000000'::uuid), id) WHERE (deleted_at IS NULL);
CREATE INDEX tickets_live ON tickets USING btree (organization_id, id) WHERE (deleted_at IS NULL);
CREATE INDEX tickets_mailbox ON tickets USING btree (organization_id, mailbox_id, id) WHERE (deleted_at IS NULL);
CREATE INDEX tickets_merged ON tickets USING btree (organization_id, merged_into_id, id) WHERE (merged_into_id IS NOT NULL);
CREATE INDEX tickets_open_groups ON tickets USING btree (organization_id, team_id, mailbox_id, company_id) WHERE ((status = ANY (ARRAY['open'::text, 'pending'::text])) AND (deleted_at IS NULL));
CREATE INDEX tickets_parent ON tickets USING btree (organization_id, parent_id, id) WHERE (parent_id IS NOT NULL);
CREATE INDEX tickets_priority ON tickets USING btree (organization_id, ticket_rank(priority), id) WHERE (deleted_at IS NULL);
CREATE INDEX tickets_rating ON tickets USING btree (organization_id, rating_score, id) WHERE ((deleted_at IS NULL) AND (rating_score IS NOT NULL));
CREATE INDEX tickets_resting ON tickets USING btree (organization_id, status, updated_at, id, company_id, erased_at) WHERE ((deleted_at IS NULL) AND (merged_into_id IS NULL) AND (status = ANY (ARRAY['resolved'::text, 'closed'::text])));
CREATE INDEX tickets_snoozed ON tickets USING btree (organization_id, id) WHERE (snoozed_until IS NOT NULL);
CREATE INDEX tickets_status ON tickets USING btree (organization_id, status, id) WHERE (deleted_at IS NULL);
CREATE INDEX tickets_team ON tickets USING btree (organization_id, team_id, id) WHERE (deleted_at IS NULL);
CREATE INDEX tickets_uncounted ON tickets USING btree (organization_id, id) WHERE ((deleted_at IS NULL) AND (message_count IS NULL));
CREATE INDEX tickets_updated ON tickets USING btree (organization_id, updated_at, id) WHERE (deleted_at IS NULL);
CREATE INDEX tickets_waiting_since_asc ON tickets USING btree (organization_id, COALESCE(
CASE
    WHEN (status = ANY (ARRAY['open'::text, 'pending'::text])) THEN waiting_message_id
    ELSE NULL::uuid
END, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid), id) WHERE (deleted_at IS NULL);
CREATE INDEX tickets_waiting_since_desc ON tickets USING btree (organization_id, COALESCE(
CASE
    WHEN (status = ANY (ARRAY['open'::text, 'pending'::text])) THEN waiting_message_id
    ELSE NULL::uuid
END, '00000000-0000-0000-0000-000000000000'::uuid), id) WHERE (deleted_at IS NULL);
CREATE TRIGGER tickets_change AFTER UPDATE OF status, priority, assignee_id, deleted_at ON tickets FOR EACH ROW WHEN (((((old.status IS DISTINCT FROM new.status) OR (old.priority IS DISTINCT FROM new.priority)) OR (old.assignee_id IS DISTINCT FROM new.assignee_id)) OR ((old.deleted_at IS NULL) IS DISTINCT FROM (new.deleted_at IS NULL)))) EXECUTE FUNCTION count_ticket();
CREATE TRIGGER tickets_change_tallies BEFORE UPDATE OF id, status, contact_id, company_id, custom_words, deleted_at ON tickets FOR EACH ROW WHEN (((((((old.id IS DISTINCT FROM new.id) OR (old.status IS DISTINCT FROM new.status)) OR (old.contact_id IS DISTINCT FROM new.contact_id)) OR (old.company_id IS DISTINCT FROM new.company_id)) OR (old.custom_words IS DISTINCT FROM new.custom_words)) OR ((old.deleted_at IS NULL) IS DISTINCT FROM (new.deleted_at IS NULL)))) EXECUTE FUNCTION tally_changed_ticket();
CREATE TRIGGER tickets_come AFTER INSERT ON tickets REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tally_tickets();
CREATE TRIGGER tickets_company_of_time AFTER UPDATE OF company_id ON tickets FOR EACH ROW WHEN ((old.company_id IS DISTINCT FROM new.company_id)) EXECUTE FUNCTION pass_company_to_time();
CREATE TRIGGER tickets_facets AFTER UPDATE OF status, priority, assignee_id, custom_words ON tickets FOR EACH ROW WHEN (((((old.status IS DISTINCT FROM new.status) OR (old.priority IS DISTINCT FROM new.priority)) OR (old.assignee_id IS DISTINCT FROM new.assignee_id)) OR (old.custom_words IS DISTINCT FROM new.custom_words))) EXECUTE FUNCTION change_ticket_facets();
CREATE TRIGGER tickets_facts_come AFTER INSERT ON tickets FOR EACH ROW EXECUTE FUNCTION new_ticket_facts();
CREATE TRIGGER tickets_facts_groups AFTER UPDATE OF assignee_id, team_id, mailbox_id, company_id, priority, deleted_at, merged_first_into_id ON tickets FOR EACH ROW WHEN ((((((((old.assignee_id IS DISTINCT FROM new.assignee_id) OR (old.team_id IS DISTINCT FROM new.team_id)) OR (old.mailbox_id IS DISTINCT FROM new.mailbox_id)) OR (old.company_id IS DISTINCT FROM new.company_id)) OR (old.priority IS DISTINCT FROM new.priority)) OR ((old.deleted_at IS NULL) IS DISTINCT FROM (new.deleted_at IS NULL))) OR ((old.merged_first_into_id IS NULL) IS DISTINCT FROM (new.merged_first_into_id IS NULL)))) EXECUTE FUNCTION group_facts();
CREATE TRIGGER tickets_facts_policy AFTER UPDATE OF sla_policy_id ON tickets FOR EACH ROW WHEN ((old.sla_policy_id IS DISTINCT FROM new.sla_policy_id)) EXECUTE FUNCTION group_facts();
CREATE TRIGGER tickets_facts_rating AFTER UPDATE OF rating_score, rated_at ON tickets FOR EACH ROW WHEN (((old.rating_score IS DISTINCT FROM new.rating_score) OR (old.rated_at IS DISTINCT FROM new.rated_at))) EXECUTE FUNCTION rating_facts();
CREATE TRIGGER tickets_facts_status AFTER UPDATE OF status ON tickets FOR EACH ROW WHEN ((((old.status = ANY (ARRAY['open'::text, 'pending'::text])) <> (new.status = ANY (ARRAY['open'::text, 'pending'::text]))) AND (old.merged_first_into_id IS NULL) AND (new.merged_first_into_id IS NULL))) EXECUTE FUNCTION status_facts();
CREATE TRIGGER tickets_go AFTER DELETE ON tickets REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tally_tickets();
CREATE TRIGGER tickets_go_unlabelled BEFORE DELETE ON tickets FOR EACH ROW WHEN ((old.deleted_at IS NULL)) EXECUTE FUNCTION unlabel_ticket();

create table time_entries (
  organization_id uuid not null,
  id uuid not null,
  ticket_id uuid not null,
  user_id uuid not null,
  duration_minutes integer not null,
  description text,
  billable boolean default true not null,
  rate numeric(9,2),
  currency text not null,
  amount numeric(14,2) generated always as (round((((duration_minutes)::numeric * rate) / (60)::numeric), 2)) stored,
  date date not null,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  updated_at timestamp with time zone default now() not null,
  company_id uuid,
  original_ticket_id uuid,
  exact_rate numeric,
  decimals smallint,
  constraint time_entries_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint time_entries_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE RESTRICT,
  constraint time_entries_user_fk FOREIGN KEY (organization_id, user_id) REFERENCES memberships(organization_id, user_id),
  constraint time_entries_currency CHECK ((currency ~ '^[A-Z]{3}$'::text)),
  constraint time_entries_duration CHECK (((duration_minutes >= 1) AND (duration_minutes <= 525600))),
  constraint time_entries_exact_rate CHECK (((exact_rate >= (0)::numeric) AND (exact_rate <= (1000000)::numeric))),
  constraint time_entries_rate CHECK (((rate >= (0)::numeric) AND (rate <= (1000000)::numeric)))
);
CREATE INDEX time_entries_of_company ON time_entries USING btree (organization_id, company_id, date, id) INCLUDE (duration_minutes, billable, amount, currency, exact_rate, decimals);
CREATE INDEX time_entries_of_days ON time_entries USING btree (organization_id, date, id) INCLUDE (company_id, user_id, duration_minutes, billable, amount, currency, exact_rate, decimals);
CREATE INDEX time_entries_of_user ON time_entries USING btree (organization_id, user_id, date, id) INCLUDE (duration_minutes, billable, amount, currency, exact_rate, decimals);
CREATE INDEX time_entries_ticket ON time_entries USING btree (organization_id, ticket_id, date, id);
CREATE TRIGGER time_entries_change AFTER UPDATE OF date, currency, billable, duration_minutes, rate, exact_rate, decimals ON time_entries FOR EACH ROW WHEN (((old.date IS DISTINCT FROM new.date) OR (old.currency IS DISTINCT FROM new.currency) OR (old.billable IS DISTINCT FROM new.billable) OR (old.duration_minutes IS DISTINCT FROM new.duration_minutes) OR (old.rate IS DISTINCT FROM new.rate) OR (old.exact_rate IS DISTINCT FROM new.exact_rate) OR (old.decimals IS DISTINCT FROM new.decimals))) EXECUTE FUNCTION sum_up_time();
CREATE TRIGGER time_entries_come_and_go AFTER INSERT OR DELETE ON time_entries FOR EACH ROW EXECUTE FUNCTION sum_up_time();
CREATE TRIGGER time_entries_company BEFORE INSERT ON time_entries FOR EACH ROW EXECUTE FUNCTION set_time_entry_company();
CREATE TRIGGER time_entries_of_older_releases BEFORE UPDATE OF rate ON time_entries FOR EACH ROW WHEN (((old.rate IS DISTINCT FROM new.rate) AND (NOT (old.exact_rate IS DISTINCT FROM new.exact_rate)))) EXECUTE FUNCTION forget_exact_rate();

create table time_total_changes (
  organization_id uuid not null,
  id bigint not null,
  date date not null,
  currency text not null,
  billable boolean not null,
  entries integer not null,
  minutes bigint not null,
  priced integer not null,
  amount numeric not null,
  constraint time_total_changes_organization_id_id_pk PRIMARY KEY (organization_id, id)
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0, vacuum_truncate=off);

create table time_totals (
  organization_id uuid not null,
  date date not null,
  currency text not null,
  billable boolean not null,
  entries integer not null,
  minutes bigint not null,
  priced integer not null,
  amount numeric not null,
  constraint time_totals_organization_id_date_currency_billable_pk PRIMARY KEY (organization_id, date, currency, billable),
  constraint time_totals_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id)
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000);

create table timers (
  organization_id uuid not null,
  user_id uuid not null,
  id uuid not null,
  ticket_id uuid not null,
  description text,
  billable boolean not null,
  rate numeric,
  started_at timestamp with time zone default clock_timestamp() not null,
  original_ticket_id uuid,
  constraint timers_organization_id_user_id_pk PRIMARY KEY (organization_id, user_id),
  constraint timers_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint timers_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE RESTRICT,
  constraint timers_user_fk FOREIGN KEY (organization_id, user_id) REFERENCES memberships(organization_id, user_id),
  constraint timers_rate CHECK (((rate >= (0)::numeric) AND (rate <= (1000000)::numeric)))
);
CREATE UNIQUE INDEX timers_id ON timers USING btree (organization_id, id);
CREATE INDEX timers_ticket ON timers USING btree (organization_id, ticket_id);

create table users (
  id uuid not null,
  email text not null,
  name text not null,
  password_hash text not null,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  updated_at timestamp with time zone default now() not null,
  is_password_held boolean default false not null,
  sessions_ended_at timestamp with time zone,
  email_key text not null,
  constraint users_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX users_email ON users USING btree (email_key);

create table viewers (
  organization_id uuid not null,
  ticket_id uuid not null,
  user_id uuid not null,
  writing boolean not null,
  seen_at timestamp with time zone default now() not null,
  constraint viewers_organization_id_ticket_id_user_id_pk PRIMARY KEY (organization_id, ticket_id, user_id),
  constraint viewers_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX viewers_age ON viewers USING btree (seen_at);

create table views (
  organization_id uuid not null,
  id uuid not null,
  name text not null,
  filter jsonb default '{}'::jsonb not null,
  sort text,
  shared boolean default false not null,
  owner_id uuid,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  updated_at timestamp with time zone default now() not null,
  constraint views_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint views_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint views_owner_fk FOREIGN KEY (organization_id, owner_id) REFERENCES memberships(organization_id, user_id),
  constraint views_private_is_owned CHECK ((shared OR (owner_id IS NOT NULL)))
);
CREATE INDEX views_owner ON views USING btree (organization_id, owner_id);

create table webhooks (
  organization_id uuid not null,
  id uuid not null,
  url text not null,
  events text[] not null,
  secret text,
  active boolean default true not null,
  status text default 'active'::text not null,
  failure_count integer default 0 not null,
  created_at timestamp with time zone generated always as (uuid_time(id)) stored not null,
  updated_at timestamp with time zone default now() not null,
  deleted_at timestamp with time zone,
  previous_secret text,
  previous_secret_until timestamp with time zone,
  filter jsonb,
  ordered boolean default false not null,
  failed_delivery_id uuid,
  failure_told_at timestamp with time zone,
  constraint webhooks_organization_id_id_pk PRIMARY KEY (organization_id, id),
  constraint webhooks_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint webhooks_events CHECK ((cardinality(events) > 0)),
  constraint webhooks_failure_count CHECK ((failure_count >= 0)),
  constraint webhooks_previous_secret CHECK ((num_nulls(previous_secret, previous_secret_until) = ANY (ARRAY[0, 2]))),
  constraint webhooks_status CHECK ((status = ANY (ARRAY['active'::text, 'failed'::text])))
);

CREATE OR REPLACE FUNCTION add_fact(fact ticket_facts)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
	INSERT INTO ticket_facts (organization_id, at, ticket_id, kind, seconds, user_id, promise_id, hidden,
		assignee_id, team_id, mailbox_id, company_id, priority, label_ids, sla_policy_id)
	VALUES (fact.organization_id, fact.at, fact.ticket_id, fact.kind, fact.seconds, fact.user_id, fact.promise_id,
		fact.hidden, fact.assignee_id, fact.team_id, fact.mailbox_id, fact.company_id, fact.priority, fact.label_ids,
		fact.sla_policy_id);
END $function$
;

CREATE OR REPLACE FUNCTION change_label_facets()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
	c record;
	prefix text;
	ticket_number integer;
	words text[];
	deleted uuid[] := '{}';
BEGIN
	IF TG_OP = 'DELETE' THEN
		-- The word of a label that is deleted may stay, because no search asks for it any more.
		FOR c IN SELECT organization_id, label_id FROM changed GROUP BY 1, 2 LOOP
			PERFORM FROM labels WHERE organization_id = c.organization_id AND id = c.label_id;
			IF NOT FOUND THEN deleted := deleted || c.label_id; END IF;
		END LOOP;
	END IF;
	FOR c IN
		SELECT organization_id, ticket_id, array_agg('@' || label_id) AS words FROM changed
		WHERE label_id <> ALL (deleted) GROUP BY 1, 2
	LOOP
		SELECT number INTO ticket_number FROM tickets WHERE organization_id = c.organization_id AND id = c.ticket_id;
		CONTINUE WHEN NOT FOUND;
		prefix := search_prefix(c.organization_id, ticket_number);
		words := ARRAY(SELECT prefix || word FROM unnest(c.words) AS word);
		IF TG_OP = 'INSERT' THEN
			UPDATE ticket_search SET document = document || array_to_tsvector(words)
			WHERE organization_id = c.organization_id AND ticket_id = c.ticket_id
				AND document || array_to_tsvector(words) <> document;
		ELSE
			UPDATE ticket_search SET document = ts_delete(document, words)
			WHERE organization_id = c.organization_id AND ticket_id = c.ticket_id;
		END IF;
	END LOOP;
	RETURN NULL;
END $function$
;

CREATE OR REPLACE FUNCTION change_ticket_facets()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
	prefix text := search_prefix(new.organization_id, new.number) || '@';
	gone text[] := ARRAY[old.status, old.priority, old.assignee_id::text] || old.custom_words::text[];
	present text[] := ARRAY[new.status, new.priority, new.assignee_id::text] || new.custom_words::text[];
BEGIN
	UPDATE ticket_search
	SET document = ts_delete(document, ARRAY(SELECT prefix || value FROM unnest(gone) AS value WHERE value IS NOT NULL))
		|| array_to_tsvector(ARRAY(SELECT prefix || value FROM unnest(present) AS value WHERE value IS NOT NULL))
	WHERE organization_id = new.organization_id AND ticket_id = new.id;
	RETURN NULL;
END $function$
;

CREATE OR REPLACE FUNCTION count_ticket()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
	IF TG_OP <> 'INSERT' AND old.deleted_at IS NULL THEN
		INSERT INTO ticket_count_changes (organization_id, status, priority, assignee_id, n)
		VALUES (old.organization_id, old.status, old.priority, old.assignee_id, -1);
	END IF;
	IF TG_OP <> 'DELETE' AND new.deleted_at IS NULL THEN
		INSERT INTO ticket_count_changes (organization_id, status, priority, assignee_id, n)
		VALUES (new.organization_id, new.status, new.priority, new.assignee_id, 1);
	END IF;
	RETURN NULL;
END $function$
;

CREATE OR REPLACE FUNCTION cut_search()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
	new.search := left(new.search, 600);
	RETURN new;
END $function$
;

CREATE OR REPLACE FUNCTION document_in_block(document tsvector, organization_id uuid, ticket_id uuid)
 RETURNS tsvector
 LANGUAGE sql
 STABLE
AS $function$
	SELECT replace($1::text, '''' || o.number || ':', '''' || search_prefix(t.organization_id, t.number))::tsvector
	FROM tickets t JOIN organizations o ON o.id = t.organization_id WHERE t.organization_id = $2 AND t.id = $3
$function$
;

CREATE OR REPLACE FUNCTION file_in_turn()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
	PERFORM pg_advisory_xact_lock(hashtextextended('file mail ' || old.organization_id, 0));
	RETURN old;
END $function$
;

CREATE OR REPLACE FUNCTION first_id_of_day(id uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
BEGIN
	RETURN (lpad(to_hex(
		('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 86400000 * 86400000
	), 12, '0') || repeat('0', 20))::uuid;
END $function$
;

CREATE OR REPLACE FUNCTION forget_exact_rate()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
	new.exact_rate := NULL;
	new.decimals := NULL;
	RETURN new;
END $function$
;

CREATE OR REPLACE FUNCTION group_facts()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
	UPDATE ticket_facts
	SET assignee_id = new.assignee_id, team_id = new.team_id, mailbox_id = new.mailbox_id, company_id = new.company_id,
		priority = new.priority, hidden = new.deleted_at IS NOT NULL OR new.merged_first_into_id IS NOT NULL,
		sla_policy_id = new.sla_policy_id
	WHERE organization_id = new.organization_id AND ticket_id = new.id;
	RETURN NULL;
END $function$
;

CREATE OR REPLACE FUNCTION keep_primary_address()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
	IF TG_OP = 'UPDATE' THEN
		-- Another address of the contact may become the primary one: then both stay.
		UPDATE contact_addresses SET email = new.email
		WHERE organization_id = new.organization_id AND email_key = new.email_key AND contact_id = new.id;
		IF FOUND THEN RETURN NULL; END IF;
		DELETE FROM contact_addresses
		WHERE organization_id = new.organization_id AND email_key = old.email_key AND contact_id = new.id;
	END IF;
	INSERT INTO contact_addresses (organization_id, email_key, contact_id, email)
	VALUES (new.organization_id, new.email_key, new.id, new.email) ON CONFLICT DO NOTHING;
	IF NOT FOUND THEN
		RAISE unique_violation USING CONSTRAINT = 'contacts_email',
			MESSAGE = 'duplicate key value violates unique constraint "contacts_email"';
	END IF;
	RETURN NULL;
END $function$
;

CREATE OR REPLACE FUNCTION label_facts()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
	c record;
BEGIN
	FOR c IN
		SELECT organization_id, ticket_id, array_agg(label_id ORDER BY label_id) AS labels FROM changed GROUP BY 1, 2
	LOOP
		IF TG_OP = 'INSERT' THEN
			UPDATE ticket_facts SET label_ids = label_ids || c.labels
			WHERE organization_id = c.organization_id AND ticket_id = c.ticket_id;
		ELSE
			UPDATE ticket_facts SET label_ids = ARRAY(SELECT unnest(label_ids) EXCEPT SELECT unnest(c.labels))
			WHERE organization_id = c.organization_id AND ticket_id = c.ticket_id;
		END IF;
	END LOOP;
	RETURN NULL;
END $function$
;

CREATE OR REPLACE FUNCTION message_facts()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
	fact ticket_facts;
	is_first boolean;
BEGIN
	SELECT * INTO fact FROM ticket_facts
	WHERE organization_id = new.organization_id AND ticket_id = new.ticket_id AND kind = 'created';
	-- A ticket of before the facts is filled later, with its replies.
	IF NOT FOUND THEN RETURN NULL; END IF;
	IF new.begins_ticket THEN
		is_first := true;
	ELSE
		PERFORM FROM ticket_facts
		WHERE organization_id = new.organization_id AND ticket_id = new.ticket_id AND kind IN ('began', 'replied')
			AND seconds IS NOT NULL;
		is_first := NOT FOUND AND new.created_at >= fact.at;
	END IF;
	IF is_first THEN
		fact.seconds := floor(date_part('epoch', new.created_at)) - floor(date_part('epoch', fact.at));
	END IF;
	fact.at := new.created_at;
	fact.kind := CASE WHEN new.begins_ticket THEN 'began' ELSE 'replied' END;
	fact.user_id := new.author_id;
	PERFORM add_fact(fact);
	RETURN NULL;
END $function$
;

CREATE OR REPLACE FUNCTION never()
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE PARALLEL SAFE COST 1
AS $function$ BEGIN RETURN false; END $function$
;

CREATE OR REPLACE FUNCTION new_ticket_facts()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
	fact ticket_facts;
BEGIN
	fact.organization_id := new.organization_id;
	fact.ticket_id := new.id;
	fact.hidden := false;
	fact.assignee_id := new.assignee_id;
	fact.team_id := new.team_id;
	fact.mailbox_id := new.mailbox_id;
	fact.company_id := new.company_id;
	fact.priority := new.priority;
	fact.label_ids := '{}';
	fact.sla_policy_id := new.sla_policy_id;
	fact.at := new.created_at;
	fact.kind := 'created';
	PERFORM add_fact(fact);
	IF new.rated_at IS NOT NULL THEN
		fact.at := new.rated_at;
		fact.kind := new.rating_score;
		PERFORM add_fact(fact);
	END IF;
	IF new.status IN ('resolved', 'closed') THEN
		-- An import knows no better time than that of the last change.
		fact.at := greatest(new.updated_at, new.created_at);
		fact.kind := 'resolved';
		fact.seconds := floor(date_part('epoch', fact.at)) - floor(date_part('epoch', new.created_at));
		PERFORM add_fact(fact);
	END IF;
	RETURN NULL;
END $function$
;

CREATE OR REPLACE FUNCTION pass_company_to_time()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
	UPDATE time_entries SET company_id = new.company_id
	WHERE organization_id = new.organization_id AND ticket_id = coalesce(new.merged_into_id, new.id)
		AND coalesce(original_ticket_id, ticket_id) = new.id AND company_id IS DISTINCT FROM new.company_id;
	RETURN NULL;
END $function$
;

CREATE OR REPLACE FUNCTION place_event()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
	-- Is empty again when the transaction ends: organization, place and number of the event before this one.
	former text[] := string_to_array(current_setting('deskwire.event_place', true), ' ');
	at_place bigint;
	at_nth integer := 0;
	resource uuid := NEW.resource_id;
	ticket uuid := NEW.ticket_id;
	-- What an assignment calls costs a tenth of what PERFORM takes.
	done text;
BEGIN
	IF former[1] = NEW.organization_id::text THEN
		at_place := former[2]::bigint;
		at_nth := former[3]::integer + 1;
	ELSE
		done := pg_advisory_xact_lock_shared(hashtextextended('events of ' || NEW.organization_id, 0));
		SELECT ((greatest(
			(SELECT place FROM event_places WHERE organization_id = NEW.organization_id ORDER BY place DESC LIMIT 1),
			(SELECT removed_place FROM event_feeds WHERE organization_id = NEW.organization_id),
			0
		) >> 20) + 1 << 20) | (pg_current_xact_id()::text::bigint & 1048575) INTO at_place;
	END IF;
	done := set_config('deskwire.event_place', NEW.organization_id || ' ' || at_place || ' ' || at_nth, true);
	IF resource IS NULL THEN
		resource := substring(NEW.body::json #>> '{data,id}' from '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$')::uuid;
		ticket := substring(NEW.body::json #>> '{data,ticket,id}' from '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$')::uuid;
	END IF;
	-- The time is at the beginning of the body, and a search in all of it would read it whole.
	INSERT INTO event_places (organization_id, place, nth, event_id, type, resource_id, ticket_id, happened_at, began_at)
	VALUES (NEW.organization_id, at_place, at_nth, NEW.id, NEW.type, resource, ticket,
		coalesce(substring(left(NEW.body, 120) from '"timestamp":"([^"]+)"')::timestamptz, NEW.created_at),
		CASE WHEN clock_timestamp() - transaction_timestamp() > interval '1 minute' THEN transaction_timestamp() END);
	RETURN NULL;
END $function$
;

CREATE OR REPLACE FUNCTION promise_facts()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
	promise promises;
	fact ticket_facts;
	result text;
	result_at timestamptz;
BEGIN
	IF TG_OP = 'DELETE' THEN promise := old; ELSE promise := new; END IF;
	IF TG_OP <> 'INSERT' THEN
		DELETE FROM ticket_facts
		WHERE organization_id = promise.organization_id AND ticket_id = promise.ticket_id AND promise_id = promise.id;
	END IF;
	IF TG_OP = 'DELETE' THEN RETURN NULL; END IF;
	IF promise.outcome = 'kept' THEN
		result := 'kept';
		result_at := promise.ended_at;
	ELSIF promise.outcome IS DISTINCT FROM 'void' THEN
		result := 'breached';
		result_at := coalesce(promise.breached_at, promise.ended_at);
	END IF;
	IF result_at IS NULL THEN RETURN NULL; END IF;
	SELECT * INTO fact FROM ticket_facts
	WHERE organization_id = promise.organization_id AND ticket_id = promise.ticket_id AND kind = 'created';
	-- A ticket of before the facts is filled later, with its promises.
	IF NOT FOUND THEN RETURN NULL; END IF;
	fact.at := result_at;
	fact.kind := result;
	fact.promise_id := promise.id;
	PERFORM add_fact(fact);
	RETURN NULL;
END $function$
;

CREATE OR REPLACE FUNCTION protect_audit_log()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
	reason text := coalesce(current_setting('deskwire.audit_log', true), '');
BEGIN
	IF TG_OP = 'DELETE' AND reason = 'retention' OR TG_OP IN ('UPDATE', 'DELETE') AND reason = 'erasure' THEN
		RETURN NULL;
	END IF;
	RAISE EXCEPTION 'audit_log is append-only' USING ERRCODE = 'insufficient_privilege';
END $function$
;

CREATE OR REPLACE FUNCTION put_in_block()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
	without_block tsquery := (SELECT quote_literal(number || ':') || ':*' FROM organizations WHERE id = new.organization_id)::tsquery;
	facets text[] := (
		SELECT ARRAY(SELECT search_prefix(t.organization_id, t.number) || '@' || word FROM unnest(t.custom_words) AS word)
		FROM tickets t WHERE t.organization_id = new.organization_id AND t.id = new.ticket_id AND t.custom_words IS NOT NULL
	);
BEGIN
	IF new.document @@ without_block THEN
		UPDATE ticket_search s SET size = s.size + length(s.document) * 5,
			document = document_in_block(s.document, s.organization_id, s.ticket_id) || ticket_facets(s.organization_id, s.ticket_id)
		WHERE s.organization_id = new.organization_id AND s.ticket_id = new.ticket_id;
	ELSIF NOT new.document @@ (SELECT string_agg(quote_literal(facet), ' & ') FROM unnest(facets) AS facet)::tsquery THEN
		UPDATE ticket_search s SET document = s.document || array_to_tsvector(facets)
		WHERE s.organization_id = new.organization_id AND s.ticket_id = new.ticket_id;
	END IF;
	RETURN NULL;
END $function$
;

CREATE OR REPLACE FUNCTION rating_facts()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
	fact ticket_facts;
BEGIN
	DELETE FROM ticket_facts
	WHERE organization_id = new.organization_id AND ticket_id = new.id AND kind IN ('good', 'bad');
	SELECT * INTO fact FROM ticket_facts
	WHERE organization_id = new.organization_id AND ticket_id = new.id AND kind = 'created';
	IF NOT FOUND OR new.rated_at IS NULL THEN RETURN NULL; END IF;
	fact.at := new.rated_at;
	fact.kind := new.rating_score;
	PERFORM add_fact(fact);
	RETURN NULL;
END $function$
;

CREATE OR REPLACE FUNCTION refuse_taken_address()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
	PERFORM FROM contact_addresses WHERE organization_id = new.organization_id AND email_key = new.email_key;
	IF FOUND THEN RETURN NULL; END IF;
	RETURN new;
END $function$
;

CREATE OR REPLACE FUNCTION search_prefix(organization_id uuid, number integer)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
	SELECT o.number || '.' || ($2 >> 14) || ':' FROM organizations o WHERE o.id = $1
$function$
;

CREATE OR REPLACE FUNCTION set_time_entry_company()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
	new.company_id := (
		SELECT company_id FROM tickets WHERE organization_id = new.organization_id AND id = new.ticket_id FOR SHARE
	);
	RETURN new;
END $function$
;

CREATE OR REPLACE FUNCTION status_facts()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
	fact ticket_facts;
BEGIN
	SELECT * INTO fact FROM ticket_facts
	WHERE organization_id = new.organization_id AND ticket_id = new.id AND kind = 'created';
	-- A ticket of before the facts is filled later, by its timeline.
	IF NOT FOUND THEN RETURN NULL; END IF;
	fact.at := greatest(new.updated_at, new.created_at);
	IF new.status IN ('resolved', 'closed') THEN
		fact.kind := 'resolved';
		fact.seconds := floor(date_part('epoch', fact.at)) - floor(date_part('epoch', new.created_at));
	ELSE
		fact.kind := 'reopened';
	END IF;
	PERFORM add_fact(fact);
	RETURN NULL;
END $function$
;

CREATE OR REPLACE FUNCTION sum_up_time()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
	exact numeric;
BEGIN
	IF TG_OP <> 'INSERT' THEN
		exact := coalesce(round(old.duration_minutes * old.exact_rate / 60, old.decimals), old.amount);
		INSERT INTO time_total_changes (organization_id, date, currency, billable, entries, minutes, priced, amount)
		VALUES (old.organization_id, old.date, old.currency, old.billable,
			-1, -old.duration_minutes, -num_nonnulls(exact), -coalesce(exact, 0));
	END IF;
	IF TG_OP <> 'DELETE' THEN
		exact := coalesce(round(new.duration_minutes * new.exact_rate / 60, new.decimals), new.amount);
		INSERT INTO time_total_changes (organization_id, date, currency, billable, entries, minutes, priced, amount)
		VALUES (new.organization_id, new.date, new.currency, new.billable,
			1, new.duration_minutes, num_nonnulls(exact), coalesce(exact, 0));
	END IF;
	RETURN NULL;
END $function$
;

CREATE OR REPLACE FUNCTION tally_changed_ticket()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
	INSERT INTO tally_changes (organization_id, kind, key, status, n)
	SELECT new.organization_id, of.kind, of.key, t.status, sum(t.n)
	FROM (VALUES
		(old.id, old.contact_id, old.company_id, old.custom_words, old.status, old.deleted_at, -1),
		(new.id, new.contact_id, new.company_id, new.custom_words, new.status, new.deleted_at, 1)
	) AS t (id, contact_id, company_id, custom_words, status, deleted_at, n)
	CROSS JOIN LATERAL (
		VALUES
			('tickets', '00000000-0000-0000-0000-000000000000'), ('tickets_of_contact', t.contact_id),
			('tickets_of_company', t.company_id), ('tickets_of_day', first_id_of_day(t.id))
		UNION ALL
		SELECT 'tickets_of_custom', word FROM unnest(t.custom_words) AS word
		UNION ALL
		SELECT 'tickets_of_label', label_id FROM ticket_labels
		WHERE organization_id = old.organization_id AND ticket_id = old.id
	) AS of (kind, key)
	WHERE t.deleted_at IS NULL AND of.key IS NOT NULL GROUP BY 1, 2, 3, 4 HAVING sum(t.n) <> 0;
	RETURN new;
END $function$
;

CREATE OR REPLACE FUNCTION tally_contacts()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
	none CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
BEGIN
	IF TG_OP <> 'INSERT' THEN
		INSERT INTO tally_changes (organization_id, kind, key, n)
		VALUES (old.organization_id, 'contacts_of_company', coalesce(old.company_id, none), -1);
	END IF;
	IF TG_OP <> 'DELETE' THEN
		INSERT INTO tally_changes (organization_id, kind, key, n)
		VALUES (new.organization_id, 'contacts_of_company', coalesce(new.company_id, none), 1);
	END IF;
	RETURN NULL;
END $function$
;

CREATE OR REPLACE FUNCTION tally_labels()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
	step integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
	c record;
	ticket_status text;
	organizations uuid[];
	labels uuid[];
	statuses text[];
BEGIN
	FOR c IN SELECT organization_id, ticket_id, array_agg(label_id) AS labels FROM changed GROUP BY 1, 2 LOOP
		SELECT status INTO ticket_status FROM tickets
		WHERE organization_id = c.organization_id AND id = c.ticket_id AND deleted_at IS NULL;
		CONTINUE WHEN NOT FOUND;
		organizations := organizations || array_fill(c.organization_id, ARRAY[cardinality(c.labels)]);
		labels := labels || c.labels;
		statuses := statuses || array_fill(ticket_status, ARRAY[cardinality(c.labels)]);
	END LOOP;
	FOR c IN
		SELECT organization_id, label_id, status, step * count(*) AS n
		FROM unnest(organizations, labels, statuses) AS of (organization_id, label_id, status) GROUP BY 1, 2, 3
	LOOP
		INSERT INTO tally_changes (organization_id, kind, key, status, n)
		VALUES (c.organization_id, 'tickets_of_label', c.label_id, c.status, c.n);
	END LOOP;
	RETURN NULL;
END $function$
;

CREATE OR REPLACE FUNCTION tally_tickets()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
	step integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
	c record;
BEGIN
	FOR c IN
		SELECT organization_id, status, priority, assignee_id, step * count(*) AS n FROM changed
		WHERE deleted_at IS NULL GROUP BY 1, 2, 3, 4
	LOOP
		INSERT INTO ticket_count_changes (organization_id, status, priority, assignee_id, n)
		VALUES (c.organization_id, c.status, c.priority, c.assignee_id, c.n);
	END LOOP;
	FOR c IN
		SELECT organization_id, of.kind, of.key, status, step * count(*) AS n
		FROM changed CROSS JOIN LATERAL (
			VALUES
				('tickets', '00000000-0000-0000-0000-000000000000'),
				('tickets_of_contact', contact_id), ('tickets_of_company', company_id), ('tickets_of_day', first_id_of_day(id))
			UNION ALL
			SELECT 'tickets_of_custom', word FROM unnest(custom_words) AS word
		) AS of (kind, key)
		WHERE deleted_at IS NULL AND of.key IS NOT NULL GROUP BY 1, 2, 3, 4
	LOOP
		INSERT INTO tally_changes (organization_id, kind, key, status, n)
		VALUES (c.organization_id, c.kind, c.key, c.status, c.n);
	END LOOP;
	RETURN NULL;
END $function$
;

CREATE OR REPLACE FUNCTION ticket_facets(organization_id uuid, ticket_id uuid)
 RETURNS tsvector
 LANGUAGE sql
 STABLE
AS $function$
	SELECT array_to_tsvector(array_agg(search_prefix(t.organization_id, t.number) || '@' || facet.value))
	FROM tickets t CROSS JOIN LATERAL (
		SELECT t.status UNION ALL SELECT t.priority UNION ALL SELECT t.assignee_id::text
		UNION ALL SELECT word::text FROM unnest(t.custom_words) AS word
		UNION ALL SELECT l.label_id::text FROM ticket_labels l WHERE l.organization_id = t.organization_id AND l.ticket_id = t.id
	) AS facet (value)
	WHERE t.organization_id = $1 AND t.id = $2 AND facet.value IS NOT NULL
$function$
;

CREATE OR REPLACE FUNCTION ticket_rank(priority text)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$ SELECT array_position(ARRAY['low', 'normal', 'high', 'urgent'], priority) $function$
;

CREATE OR REPLACE FUNCTION uncount_ticket()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
	IF TG_OP <> 'INSERT' THEN
		UPDATE tickets SET message_count = NULL
		WHERE organization_id = old.organization_id AND id = old.ticket_id AND message_count IS NOT NULL
			AND deleted_at IS NULL;
	END IF;
	IF TG_OP <> 'DELETE' THEN
		UPDATE tickets SET message_count = NULL
		WHERE organization_id = new.organization_id AND id = new.ticket_id AND message_count IS NOT NULL
			AND deleted_at IS NULL;
	END IF;
	RETURN NULL;
END $function$
;

CREATE OR REPLACE FUNCTION unlabel_ticket()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
	DELETE FROM ticket_labels WHERE organization_id = old.organization_id AND ticket_id = old.id;
	RETURN old;
END $function$
;

CREATE OR REPLACE FUNCTION uuid_time(id uuid)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$ BEGIN RETURN to_timestamp(('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint / 1000.0); END $function$
;
