/** Answers DNS from a file that may change: `dns-server.ts ADDRESS zone.json`, on port 53. */
import { createSocket } from 'node:dgram'
import { readFileSync } from 'node:fs'
import { type Answer, decode, encode } from 'dns-packet'

const [address, file] = process.argv.slice(2) as [string, string]
const socket = createSocket('udp4')
socket.on('message', (query, { port, address }) => {
  const { id, questions = [] } = decode(query)
  const zone = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Record<string, unknown[]>>
  const answers = questions.flatMap(({ name, type }) =>
    (zone[name.toLowerCase()]?.[type] ?? []).map((data) => ({ name, type, ttl: 1, data }) as Answer),
  )
  const is_known = questions.every(({ name }) => zone[name.toLowerCase()])
  // Recursive, and authoritative; 3 says that there is no such name.
  const flags = 0x0580 | (is_known ? 0 : 3)
  socket.send(encode({ type: 'response', id, flags, questions, answers }), port, address)
})
socket.bind(53, address)
