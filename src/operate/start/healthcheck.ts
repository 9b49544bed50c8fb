/**
 * Asks the service of this machine or container if it is ready, for HEALTHCHECK and scripts: bun
 * src/operate/start/healthcheck.ts Ends with 0 when `/readyz` answers 200, else prints why and ends with 1. It reads
 * the same settings as the service.
 */
import { isIPv6 } from 'node:net'
import { config, ignoreProxies } from '../../base/config'

/** Shorter than the limit of the container engine, so that the reason is printed. */
const TIMEOUT_MS = 2500

/** Addresses of every interface, with one that a client on the same machine can reach. */
const LOOPBACK: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

ignoreProxies()
const host = LOOPBACK[config.HOST] ?? config.HOST
const origin = `${config.TLS_CERT_FILE ? 'https' : 'http'}://${isIPv6(host) ? `[${host}]` : host}:${config.PORT}`
const answer = await ask(`${origin}/readyz`)
if (answer !== 200) console.error(`${origin}/readyz: ${answer}`)
process.exit(answer === 200 ? 0 : 1)

/** @returns the status, or why there is none */
async function ask(url: string): Promise<number | string> {
  try {
    const { status } = await fetch(url, {
      signal: AbortSignal.timeout(TIMEOUT_MS),
      // The certificate names the service as its clients call it, and nothing is sent that others may not see.
      tls: { rejectUnauthorized: false },
    })
    return status
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
