/**
 * The API on a real port in a separate process, for tests that watch its memory. Prints one JSON line
 * `{ port, token }`, and ends when its standard input does.
 */
import './preload'
import { api, createOrganization, startApi, stopApi } from './api'

await startApi()
const { agent } = await createOrganization()
const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => api().handle(request) })
process.stdout.write(`${JSON.stringify({ port: server.port, token: agent.token })}\n`)

process.stdin.resume()
process.stdin.on('end', async () => {
  await server.stop(true)
  await stopApi()
  process.exit()
})
