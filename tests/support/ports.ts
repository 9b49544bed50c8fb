/** Ports for what a test starts, stops and starts again. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'

const LOWEST = 10_000
const FEWEST = 1000
/** From here on systems give ports to outgoing connections, unless they say otherwise. */
const EPHEMERAL = 32_768

const given = new Set<number>()

/**
 * A port of 127.0.0.1 that nobody listens on. It is none of those that the system gives to outgoing connections: while
 * a service is away, one of these would take its port.
 */
export async function freePort(): Promise<number> {
  const end = firstEphemeral()
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * (end - LOWEST))
    if (given.has(port) || !(await isFree(port))) continue
    given.add(port)
    return port
  }
}

function firstEphemeral(): number {
  const first = Number(readRange().split(/\s/)[0])
  return first >= LOWEST + FEWEST ? first : EPHEMERAL
}

function readRange(): string {
  try {
    return readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8')
  } catch {
    return String(EPHEMERAL)
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
