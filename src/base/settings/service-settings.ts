/** Settings of the process, its data, its first account and its HTTP listener. */
import path from 'node:path'
import {
  anyText,
  baseUrl,
  databaseUrl,
  networks,
  oneWordOf,
  type Setting,
  secretKey,
  share,
  textLike,
  textOfLength,
  url,
  type Values,
  wholeNumber,
} from './setting'

/** A bucket needs its keys. */
const missingForBucket = ({ ATTACHMENT_STORE }: Values) =>
  ATTACHMENT_STORE === 'file' ? undefined : 'is required when ATTACHMENT_STORE is a bucket'

/** A certificate and its key come together. @param other the variable of the other one */
const missingBeside = (other: string) => (all: Values) =>
  all[other] === undefined ? undefined : 'must be set too: a certificate needs its key'

/** Read in this order: `BASE_URL` is computed from those above it. */
export const SERVICE_SETTINGS = {
  PORT: {
    meaning: 'Port of the HTTP listener. It serves HTTPS when there is a certificate.',
    read: wholeNumber(0, 65_535),
    default: '3000',
  },
  HOST: {
    meaning: 'Address or host name that the listeners for HTTP and SMTP bind to.',
    read: anyText,
    default: '0.0.0.0',
  },
  TLS_CERT_FILE: {
    meaning: 'PEM file with the certificate chain. With it the service itself serves HTTPS and STARTTLS.',
    read: anyText,
    missing: missingBeside('TLS_KEY_FILE'),
    is_basic: true,
  },
  TLS_KEY_FILE: {
    meaning: 'PEM file with the private key of `TLS_CERT_FILE`.',
    read: anyText,
    missing: missingBeside('TLS_CERT_FILE'),
    is_basic: true,
  },
  BASE_URL: {
    meaning:
      'Public address of the service. Links in answers, such as the `url` of an attachment, begin with it. It may have a path, which the proxy in front takes away.',
    read: baseUrl,
    default: ({ PORT, TLS_CERT_FILE }) => `${TLS_CERT_FILE ? 'https' : 'http'}://localhost:${PORT}`,
    default_words: '`http://localhost:$PORT`, with a certificate `https://localhost:$PORT`',
    is_basic: true,
  },
  TRUSTED_PROXIES: {
    meaning: 'Networks (CIDRs, separated by commas) of the reverse proxies whose `X-Forwarded-For` is believed.',
    read: networks,
    default: '',
    is_basic: true,
  },
  DRAIN_SECONDS: {
    meaning:
      'Seconds between SIGTERM and the end of the listeners, in which `/readyz` answers 503 and everything is served. Behind a load balancer set more than it takes to see the 503.',
    read: wholeNumber(0, 3600),
    default: '0',
  },
  RATE_LIMIT_PER_MINUTE: {
    meaning:
      'Requests in a minute for each API key, and without a valid credential for each address. `0` turns the limit off.',
    read: wholeNumber(0, 1_000_000),
    default: '100',
  },
  SESSION_RATE_LIMIT_PER_MINUTE: {
    meaning: 'Requests in a minute for each person, with all sessions together. `0` turns the limit off.',
    read: wholeNumber(0, 1_000_000),
    default: ({ RATE_LIMIT_PER_MINUTE }) => Number(RATE_LIMIT_PER_MINUTE),
    default_words: '`RATE_LIMIT_PER_MINUTE`',
  },
  STREAMS_PER_ORGANIZATION: {
    meaning: 'Streams of events that an organization may have open at a time. Each user and API key may have 10.',
    read: wholeNumber(1, 100_000),
    default: '200',
  },
  REDIS_URL: {
    meaning: 'Redis in which several processes count their requests together. Without it each process counts its own.',
    read: url('redis:', 'rediss:'),
  },
  DATABASE_URL: {
    meaning:
      'PostgreSQL 15 or later with the extensions `btree_gin` and `pg_trgm`. Without it an embedded PostgreSQL runs under `DATA_DIR`.',
    read: databaseUrl,
  },
  DATABASE_DIRECT_URL: {
    meaning:
      'The database itself when `DATABASE_URL` is a pooler such as PgBouncer in transaction mode: for migrations, and for notices between processes.',
    read: databaseUrl,
    default_words: '`DATABASE_URL`',
  },
  DATABASE_POOL: {
    meaning:
      'Connections to the database that one process opens for requests, mail and deliveries. Up to 4 more serve background jobs and notices, on a cluster 6.',
    read: wholeNumber(1, 1000),
    default: '10',
  },
  DATA_DIR: {
    meaning: 'Folder of the embedded database, attachments, originals of mail and the generated secret key.',
    read: (text) => path.resolve(text),
    default: './data',
  },
  SECRET_KEY: {
    meaning:
      'All signing and encryption keys are derived from it: at least 32 characters, 8 of them different. Keep a copy: without it stored secrets are lost.',
    read: secretKey,
    default_words:
      'made at the first start and kept in `DATA_DIR/secret-key`; with `DATABASE_URL` there is none and you must set it',
    generated_file: 'secret-key',
    missing: ({ DATABASE_URL }) =>
      DATABASE_URL ? 'is required with DATABASE_URL: set 32 or more random characters' : undefined,
    is_secret: true,
  },
  SECRET_KEY_PREVIOUS: {
    meaning:
      'The former `SECRET_KEY` after a change: it still decrypts, and it verifies links, addresses and cursors that were sent before, but no access token.',
    read: anyText,
    is_secret: true,
  },
  ACCESS_TOKEN_SECONDS: { meaning: 'How long an access token is valid.', read: wholeNumber(1, 86_400), default: '900' },
  REFRESH_TOKEN_SECONDS: {
    meaning: 'How long a refresh token is valid.',
    read: wholeNumber(1, 31_536_000),
    default: '604800',
  },
  ADMIN_EMAIL: {
    meaning: 'Email of the first admin. Used once, when the database has no organization.',
    read: anyText,
    default: 'admin@example.com',
    is_basic: true,
  },
  ADMIN_PASSWORD: {
    meaning: 'Password of the first admin. Used once, when the database has no organization.',
    read: textOfLength(8, 200),
    default_words: 'generated and shown once',
    is_secret: true,
  },
  ADMIN_NAME: {
    meaning: 'Name of the first admin. Used once, when the database has no organization.',
    read: anyText,
    default: 'Admin',
  },
  ORGANIZATION_NAME: {
    meaning: 'Name of the first organization. Used once, when the database has none.',
    read: anyText,
    default: 'My organization',
  },
  ATTACHMENT_STORE: {
    meaning: 'Where attachments and originals of mail are kept: `file` (under `DATA_DIR`) or `s3://bucket/prefix`.',
    read: textLike(/^(file$|s3:\/\/[^/]+)/, 'must be file or s3://bucket/prefix'),
    default: 'file',
  },
  ATTACHMENT_MAX_BYTES: {
    meaning: 'Largest uploaded file in bytes.',
    read: wholeNumber(1024, 1_000_000_000),
    default: '26214400',
  },
  MAX_BODY_BYTES_IN_FLIGHT: {
    meaning:
      'Bytes of memory that the bodies of requests may take in one process. An organization may hold as much as it leaves to others: one alone half. An upload counts as 2 MiB, an email at `POST /inbound-messages` twice. A request above it gets 503. It is never less than the largest single body.',
    read: wholeNumber(1024, 1e12),
    default: '104857600',
  },
  ATTACHMENT_QUOTA_BYTES: {
    meaning:
      'Bytes that the attachments of one organization may take, those of mail included. An upload above it is refused, mail never is. `0` sets no limit.',
    read: wholeNumber(0, 1e15),
    default: '0',
  },
  S3_ENDPOINT: { meaning: 'Address of the S3 service, when it is not that of AWS.', read: url('http:', 'https:') },
  S3_REGION: { meaning: 'Region of the bucket.', read: anyText },
  S3_ACCESS_KEY_ID: { meaning: 'Id of the key for the bucket.', read: anyText, missing: missingForBucket },
  S3_SECRET_ACCESS_KEY: {
    meaning: 'Secret of the key for the bucket.',
    read: anyText,
    missing: missingForBucket,
    is_secret: true,
  },
  DELETED_RETENTION_DAYS: {
    meaning: 'Days until a deleted ticket is removed for good, with its messages and files. Its time entries stay.',
    read: wholeNumber(0, 36_500),
    default: '30',
  },
  CLOSED_RETENTION_DAYS: {
    meaning:
      'Days after its last change until a closed ticket is deleted, with an event, as people delete tickets. `0` keeps closed tickets.',
    read: wholeNumber(0, 36_500),
    default: '0',
  },
  ACCOUNT_RETENTION_DAYS: {
    meaning:
      'Days until an account that belongs to no organization any more loses its address and password. Its name stays where time was logged. `0` keeps them.',
    read: wholeNumber(0, 36_500),
    default: '365',
  },
  AUDIT_RETENTION_DAYS: {
    meaning: 'Days until an entry of the audit log is removed.',
    read: wholeNumber(1, 36_500),
    default: '365',
  },
  METRICS_PORT: {
    meaning: 'Port of a separate listener with the figures for Prometheus at `/metrics`.',
    read: wholeNumber(0, 65_535),
    is_basic: true,
  },
  METRICS_HOST: {
    meaning: 'Address or host name that the listener of `METRICS_PORT` binds to. It asks nobody for a password.',
    read: anyText,
    default: '127.0.0.1',
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    meaning:
      'Address of an OpenTelemetry collector, such as `http://localhost:4318`, that gets traces over OTLP/HTTP. Without it there are none.',
    read: url('http:', 'https:'),
  },
  OTEL_TRACES_SAMPLER: {
    meaning:
      'Which traces are kept: `always_on`, `always_off`, `traceidratio`, or one of these with `parentbased_` before it, which follows the caller.',
    read: oneWordOf([
      ...(['parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'] as const),
      ...(['always_on', 'always_off', 'traceidratio'] as const),
    ]),
    default: 'parentbased_always_on',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    meaning: 'The share of traces that `traceidratio` keeps, from `0` to `1`.',
    read: share,
    default: '1',
  },
  SWAGGER: {
    meaning: 'Serves the documentation of the API at `/swagger`, and `/client.ts`: `on` or `off`.',
    read: oneWordOf(['on', 'off']),
    default: 'on',
  },
  MCP: {
    meaning: 'Serves tools for programs at `/mcp` (Model Context Protocol): `on` or `off`.',
    read: oneWordOf(['on', 'off']),
    default: 'on',
  },
  CONSOLE: { meaning: 'Serves the console at `/`: `on` or `off`.', read: oneWordOf(['on', 'off']), default: 'on' },
  LOG_LEVEL: {
    meaning: 'Least important lines to log: `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.',
    read: oneWordOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    default: 'info',
  },
  LOG_FORMAT: {
    meaning: 'Form of log lines: `json`, or `text` for people.',
    read: oneWordOf(['json', 'text']),
    default: () => (process.stdout.isTTY ? 'text' : 'json'),
    default_words: '`text` on a terminal, else `json`',
  },
  LOG_CLIENT_ADDRESS: {
    meaning:
      'How lines of the log name clients of HTTP and SMTP: by their `full` address, by its `network` (24 bits of IPv4, 48 of IPv6), or not at all (`none`).',
    read: oneWordOf(['full', 'network', 'none']),
    default: 'full',
  },
} satisfies Record<string, Setting>
