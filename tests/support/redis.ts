/** A real Redis on a port of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { freePort } from './ports'
import { until } from './service'

const PROGRAM = Bun.which('redis-server')

/** Why there can be none here; undefined when there can. */
export const WHY_NO_REDIS = PROGRAM ? undefined : 'there is no redis-server: apt-get install redis-server'

export type RedisServer = {
  url: string
  /** SIGSTOP: it keeps its connections and is silent. */
  freeze(): void
  /** SIGCONT. */
  thaw(): void
  stop(): Promise<void>
  /** After `stop`, on the same port and empty. */
  start(): Promise<void>
}

/** Starts one that keeps nothing on disk. */
export async function startRedis(): Promise<RedisServer> {
  const port = await freePort()
  let server: ChildProcess
  const start = async () => {
    server = spawn(PROGRAM!, ['--port', String(port), '--bind', '127.0.0.1', '--save', ''], { stdio: 'ignore' })
    await until('Redis listens', () => isListening(port))
  }
  await start()
  return {
    url: `redis://127.0.0.1:${port}`,
    freeze: () => void server.kill('SIGSTOP'),
    thaw: () => void server.kill('SIGCONT'),
    async stop() {
      const ended = new Promise((resolve) => server.once('exit', resolve))
      server.kill('SIGKILL')
      await ended
    },
    start,
  }
}

async function isListening(port: number): Promise<boolean> {
  const socket = await Bun.connect({ hostname: '127.0.0.1', port, socket: { data() {} } }).catch(() => undefined)
  socket?.end()
  return socket !== undefined
}
