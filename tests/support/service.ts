/** The whole service as a separate process, as an operator runs it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePort } from './ports'

export const ADMIN = { email: 'admin@deskwire.example', password: 'correct horse battery staple' }

const MAIN = path.join(import.meta.dirname, '../../src/main.ts')

/** Where services of this process keep files, those that start again too, unless a test says otherwise. */
const DATA_DIR = path.join(tmpdir(), `deskwire-service-${process.pid}`)

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
type Answer = { status: number; body: any }

export type Service = {
  url: string
  smtp_port: number
  process: ChildProcess
  /** Its standard output and standard error. */
  output(): string
  /** A request as the admin. */
  call(method: string, path: string, body?: unknown): Promise<Answer>
  /** Token of the admin, once something was called. */
  token(): string
  /** SIGTERM; resolves to the exit code. */
  stop(): Promise<number | null>
  /** SIGKILL, and waits for the end. */
  kill(): Promise<void>
}

/**
 * Starts a service and waits until it is ready.
 * @param env its settings; ports are free ones unless given
 * @param main its program: that of another release, if given
 * @param before a program that runs it, with arguments, such as `setpriv`
 */
export async function startService(env: Record<string, string>, main = MAIN, before: string[] = []): Promise<Service> {
  const port = env.PORT ?? String(await freePort())
  const smtp_port = env.SMTP_PORT ?? String(await freePort())
  const url = `${env.TLS_CERT_FILE ? 'https' : 'http'}://127.0.0.1:${port}`
  const tls = { rejectUnauthorized: false }
  const [program, ...args] = [...before, process.execPath, '--no-orphans', main]
  const child = spawn(program!, args, {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      TMPDIR: process.env.TMPDIR,
      DNS_SERVERS: process.env.DNS_SERVERS,
      DATA_DIR,
      HOST: '127.0.0.1',
      PORT: port,
      SMTP_PORT: smtp_port,
      BASE_URL: url,
      ADMIN_EMAIL: ADMIN.email,
      ADMIN_PASSWORD: ADMIN.password,
      RATE_LIMIT_PER_MINUTE: '0',
      LOG_LEVEL: 'warn',
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,::1',
      MAIL_ALLOWED_NETWORKS: '127.0.0.0/8,::1',
      BUN_CONFIG_MAX_HTTP_REQUESTS: '2048',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const isReady = async () => {
    if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}: ${output}`)
    const answer = await fetch(`${url}/readyz`, { tls }).catch(() => undefined)
    return answer?.status === 200
  }
  await until('the service is ready', isReady).catch((error) => {
    throw new Error(`${error.message}: ${output}`)
  })
  let token = ''

  const send = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      tls,
      headers: {
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await response.text()
    return { status: response.status, body: text ? JSON.parse(text) : undefined }
  }

  return {
    url,
    smtp_port: Number(smtp_port),
    process: child,
    output: () => output,
    token: () => token,
    async call(method, path, body) {
      if (!token) token = (await send('POST', '/auth/login', ADMIN)).body.access_token
      return send(method, path, body)
    },
    stop() {
      child.kill('SIGTERM')
      return ended
    },
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

/**
 * Waits until the condition holds. It asks each 20 ms at first, and later each tenth of the time so far: to ask
 * takes from those who work.
 * @throws Error naming it after `timeout_ms`
 */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeout_ms = 180_000,
): Promise<void> {
  // Not the clock's time, which tests step.
  const start = performance.now()
  for (let passed = 0; passed < timeout_ms; passed = performance.now() - start) {
    if (await condition()) return
    await Bun.sleep(Math.max(20, passed / 10))
  }
  throw new Error(`${what}: not within ${timeout_ms} ms`)
}
