/** Three services as an operator runs them: haproxy before them, PgBouncer, Redis and an S3 store behind them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import S3rver from 's3rver'
import { createDatabase } from './database'
import { type Haproxy, startHaproxy, WHY_NO_HAPROXY } from './haproxy'
import { startPgBouncer, WHY_NO_PGBOUNCER } from './pgbouncer'
import { freePort } from './ports'
import { type Receiver, startReceiver } from './receiver'
import { type RedisServer, startRedis, WHY_NO_REDIS } from './redis'
import { type Service, startService } from './service'

/** The program that the machine lacks; undefined when all is there. */
export const WHY_NO_REPLICAS = WHY_NO_HAPROXY ?? WHY_NO_PGBOUNCER ?? WHY_NO_REDIS

export type Replicas = {
  services: Service[]
  haproxy: Haproxy
  redis: RedisServer
  receiver: Receiver
  /** URL of the database itself, around PgBouncer. */
  database_url: string
  /** The figures of a replica for Prometheus. */
  metrics(index: number): Promise<string>
  /** Starts a replica that has ended, on its former ports. @param env changes of its settings */
  start(index: number, env?: Record<string, string>): Promise<Service>
  stop(): Promise<void>
}

/** Starts all of it. */
export async function startReplicas(count: number): Promise<Replicas> {
  const folder = mkdtempSync(path.join(tmpdir(), 'replicas-'))
  const database = await createDatabase()
  const bouncer = await startPgBouncer(database.url, { default_pool_size: '30', max_client_conn: '200' })
  const redis = await startRedis()
  const s3 = await startS3(path.join(folder, 's3'))
  const receiver = await startReceiver()
  const common = {
    DATABASE_URL: bouncer.url,
    DATABASE_DIRECT_URL: database.url,
    SECRET_KEY: 'a secret key that only tests use',
    REDIS_URL: redis.url,
    ATTACHMENT_STORE: 's3://desk/files',
    S3_ENDPOINT: s3.url,
    S3_REGION: 'us-east-1',
    S3_ACCESS_KEY_ID: 'S3RVER',
    S3_SECRET_ACCESS_KEY: 'S3RVER',
    RATE_LIMIT_PER_MINUTE: '100000',
    TRUSTED_PROXIES: '127.0.0.1/32',
    SMTP_TRUSTED_PROXIES: '127.0.0.1/32',
    WEBHOOK_CA_FILE: receiver.ca_file,
    DRAIN_SECONDS: '4',
    LOG_LEVEL: 'info',
    LOG_FORMAT: 'json',
  }
  const own: Record<string, string>[] = []
  for (let n = 0; n < count; n++) {
    const ports = { PORT: String(await freePort()), SMTP_PORT: String(await freePort()) }
    own.push({ ...ports, METRICS_PORT: String(await freePort()), DATA_DIR: path.join(folder, `data${n}`) })
  }
  const services: Service[] = []
  const start = async (index: number, env: Record<string, string> = {}) => {
    services[index] = await startService({ ...common, ...own[index]!, ...env })
    return services[index]
  }
  // The first one makes the admin.
  for (const index of own.keys()) await start(index)
  const haproxy = await startHaproxy(
    own.map(({ PORT, SMTP_PORT }) => ({ http: Number(PORT), smtp: Number(SMTP_PORT) })),
  )
  return {
    services,
    haproxy,
    redis,
    receiver,
    database_url: database.url,
    metrics: async (index) => (await fetch(`http://127.0.0.1:${own[index]!.METRICS_PORT}/metrics`)).text(),
    start,
    async stop() {
      await haproxy.stop()
      await Promise.all(services.map((service) => service.kill()))
      receiver[Symbol.dispose]()
      await Promise.all([bouncer.stop(), redis.stop(), s3.stop()])
      await database.drop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** An S3 store with the bucket `desk`. */
async function startS3(directory: string) {
  const configureBuckets = [{ name: 'desk', configs: [] }]
  const server = new S3rver({ port: 0, address: '127.0.0.1', silent: true, directory, configureBuckets })
  const { port } = await server.run()
  return { url: `http://127.0.0.1:${port}`, stop: () => server.close() }
}
