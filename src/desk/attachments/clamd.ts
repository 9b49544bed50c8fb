/**
 * Asks a clamd about the bytes of a file by INSTREAM (`man clamd`): chunks with their lengths, then one answer.
 *
 * Hand-written: for most files above StreamMaxLength clamdjs 1.0.2 and clamscan 2.4.0 give `EPIPE` instead of clamd's
 * answer. The test "the real clamd finds a virus, and says what is clean and what is too large for it" fails with both.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import type { Bytes } from './store'

/** Bytes, and how many they are. */
type File = { bytes: Bytes; size: number }

/** The verdict of clamd; `skipped`: the file is larger than its StreamMaxLength. */
type Verdict = 'clean' | 'infected' | 'skipped'

/** Says that clamd answered, but not with a verdict. Another file may get one. */
export class ClamdAnswerError extends Error {}

const PORT = 3310
const PIECE_BYTES = 65_536
/** A chunk has four bytes for its length, and clamd takes no larger stream. */
const MOST_BYTES = 0xffff_ffff
/** A limit below that would be odd. */
const LARGE_BYTES = 1024 * 1024
/** Before the bytes of a large file: time for clamd to say that they are too many. */
const EARLY_ANSWER_MS = 100
const MOST_ANSWER_BYTES = 4096

/**
 * Sends the bytes of a file, and reads the verdict.
 * @param place host, or `host:port`
 * @throws ClamdAnswerError for an answer that is no verdict; Error when clamd is away or silent; what `bytes` throws
 */
export async function askClamd(place: string, file: File, timeout_ms: number): Promise<Verdict> {
  if (file.size > MOST_BYTES) return 'skipped'
  return verdictOf(await converse(place, 'INSTREAM', timeout_ms, (socket) => sendFile(socket, file)))
}

/** Asks if clamd is there. @throws as `askClamd` */
export async function pingClamd(place: string, timeout_ms: number): Promise<void> {
  const answer = await converse(place, 'PING', timeout_ms)
  if (answer !== 'PONG') throw new ClamdAnswerError('it does not answer as a clamd')
}

async function converse(
  place: string,
  command: string,
  timeout_ms: number,
  tell: (socket: Socket) => Promise<void> = async () => {},
): Promise<string> {
  const [, address, name = place, port = PORT] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(place) ?? []
  const socket = connect({ host: address ?? name, port: Number(port) })
  const timer = globalThis.setTimeout(
    () => socket.destroy(new Error(`no answer within ${timeout_ms / 1000} s`)),
    timeout_ms,
  )
  const answer = readAnswer(socket)
  try {
    socket.write(`z${command}\0`)
    // It may answer early, and then takes no more. What it said counts, even when sending fails.
    return await Promise.race([answer, tell(socket).then(() => answer)])
  } finally {
    clearTimeout(timer)
    socket.destroy()
  }
}

/** Resolves with the text before the first NUL. */
function readAnswer(socket: Socket): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    if (text.includes('\0')) resolve(text.slice(0, text.indexOf('\0')))
    else if (text.length > MOST_ANSWER_BYTES) reject(new ClamdAnswerError('its answer is too long'))
  })
  socket.on('error', reject)
  socket.on('close', () => reject(new Error('it closed the connection without an answer')))
  promise.catch(() => {})
  return promise
}

/**
 * Sends the file as one chunk. Above its limit clamd answers as soon as it has the length, and closes: what it had not
 * read by then would make the system drop the answer with the connection.
 */
async function sendFile(socket: Socket, { bytes, size }: File): Promise<void> {
  if (size > 0) {
    await send(socket, lengthOf(size))
    if (size > LARGE_BYTES) await setTimeout(EARLY_ANSWER_MS)
    for await (const piece of bytes instanceof Uint8Array ? [bytes] : bytes) {
      for (let start = 0; start < piece.length; start += PIECE_BYTES) {
        if (socket.destroyed) return
        await send(socket, piece.subarray(start, start + PIECE_BYTES))
      }
    }
  }
  await send(socket, lengthOf(0))
}

function lengthOf(size: number): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(size)
  return length
}

/** Sends bytes, and waits until there is room for the next, or the end of the connection. */
async function send(socket: Socket, bytes: Uint8Array): Promise<void> {
  if (socket.destroyed || socket.write(bytes)) return
  const { promise, resolve } = Promise.withResolvers<void>()
  socket.once('drain', resolve).once('close', resolve)
  await promise
  socket.off('drain', resolve).off('close', resolve)
}

function verdictOf(answer: string): Verdict {
  if (answer === 'stream: OK') return 'clean'
  if (/^stream: .+ FOUND$/.test(answer)) return 'infected'
  if (/^INSTREAM size limit exceeded\b.* ERROR$/.test(answer)) return 'skipped'
  throw new ClamdAnswerError('it answered something else than a verdict')
}
