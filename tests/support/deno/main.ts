/** The HTTP app under Deno: its server calls `app.fetch`. Prints its port, and ends when its standard input does. */
import { createApp } from '../../../src/app'
import { connection } from '../../../src/base/db/pool'
import { openDatabase } from '../../../src/operate/start/database'
import { createFirstOrganization } from '../../../src/people/organizations/first'

type Listen = { port: number; hostname: string; onListen(address: { port: number }): void }

declare const Deno: { serve(options: Listen, fetch: (request: Request) => Response | Promise<Response>): unknown }

const database = await openDatabase({ other_service: 'refuse', no_database: 'refuse', pool_size: 5 })
await createFirstOrganization(connection())
const app = createApp(async () => true)
const onListen = ({ port }: { port: number }) => void process.stdout.write(`${port}\n`)
Deno.serve({ port: 0, hostname: '127.0.0.1', onListen }, (request) => app.fetch(request))

process.stdin.resume()
process.stdin.on('end', async () => {
  await database.close()
  process.exit()
})
