/** A server of access tokens on loopback, which counts what it is asked and answers as a test says. */
import { issueCertificate } from './certificates'

export type TokenServer = Awaited<ReturnType<typeof startTokenServer>>

/** Its tokens are `token-1`, `token-2` and so on, unless `answer` is set. */
export async function startTokenServer() {
  const { cert, key } = await issueCertificate()
  const stub = {
    asked: [] as Record<string, string>[],
    /** Tokens that servers are to take. */
    tokens: new Set<string>(),
    /** The rest of the answers. */
    more: {} as Record<string, unknown>,
    answer: undefined as (() => Response | Promise<Response>) | undefined,
    most_at_once: 0,
  }
  let at_once = 0
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    tls: { cert, key },
    async fetch(request): Promise<Response> {
      stub.most_at_once = Math.max(stub.most_at_once, ++at_once)
      stub.asked.push(Object.fromEntries(new URLSearchParams(await request.text())))
      try {
        if (stub.answer) return await stub.answer()
        await Bun.sleep(20)
        const access_token = `token-${stub.asked.length}`
        stub.tokens.add(access_token)
        return Response.json({ token_type: 'Bearer', access_token, expires_in: 3600, ...stub.more })
      } finally {
        at_once--
      }
    },
  })
  return Object.assign(stub, {
    url: `https://127.0.0.1:${server.port}/token`,
    [Symbol.dispose]: () => void server.stop(true),
  })
}
