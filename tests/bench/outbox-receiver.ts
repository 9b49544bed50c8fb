/** A webhook receiver in a separate process. Tells its parent when it listens and, if asked, when deliveries came. */
import { readFileSync } from 'node:fs'

const [cert = '', key = ''] = process.argv.slice(2).map((file) => readFileSync(file, 'utf8'))
let tells = false

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  tls: { cert, key },
  async fetch(request) {
    const at_ms = performance.timeOrigin + performance.now()
    await request.arrayBuffer()
    if (tells) process.send?.({ at_ms })
    return new Response(null, { status: 200 })
  },
})

process.on('message', (message) => {
  tells = message === 'tell'
})
process.send?.({ url: `https://localhost:${server.port}/hook` })
