/** A connection to PostgreSQL that goes deaf while a process listens on it: it stays open, and nothing more arrives. */
import { startTcpProxy } from './tcp-proxy'

/**
 * Starts a proxy on loopback.
 * @param target where the server is
 * @returns the URL to use instead, and how many connections are deaf
 */
export async function startDeafProxy(target: string) {
  let deaf = 0
  const proxy = await startTcpProxy(target, (client, upstream) => {
    let is_deaf = false
    client.on('data', (bytes) => {
      upstream.write(bytes)
      if (is_deaf || !bytes.toString('latin1').toLowerCase().includes('listen "')) return
      is_deaf = true
      deaf++
    })
    upstream.on('data', (bytes) => {
      if (!is_deaf) client.write(bytes)
    })
  })
  return { ...proxy, deaf: () => deaf }
}
