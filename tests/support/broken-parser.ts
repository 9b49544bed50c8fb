/**
 * A parser process that misbehaves: hangs until it is killed, takes memory without end, dies, or is busy until a file
 * exists.
 */
import { existsSync } from 'node:fs'

process.on('message', (message: unknown) => {
  const { id, work } = message as { id: number; work: { raw: Uint8Array } }
  const text = Buffer.from(work.raw).toString()
  if (text === 'hang') /^(?:a*)*$/.test(`${'a'.repeat(40)}b`) || /(?:x[\s(]*\W*)*failed/.test(`x${'('.repeat(1e6)}`)
  if (text === 'grow') for (const kept: Uint8Array[] = []; ; ) kept.push(new Uint8Array(10_000_000).fill(1))
  if (text === 'die') process.kill(process.pid, 'SIGKILL')
  if (text.startsWith('wait ')) while (!existsSync(text.slice('wait '.length)));
  process.send?.({ id, result: { text } })
})

process.send?.('ready')
