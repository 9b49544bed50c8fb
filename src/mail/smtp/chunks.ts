/**
 * Takes messages in chunks of counted bytes (BDAT, RFC 3030), which the library does not know.
 *
 * Beside those that `protocol.ts` lists, it uses these members that the library keeps for itself:
 *
 * - `SMTPStream._feedDataStream`, overridden, and `_dataMode`: a chunk is read by its length, where DATA is read to its
 *   end.
 * - `SMTPConnection._createParser`, overridden, and `_parser`: the next command is read after the reply.
 * - `SMTPConnection._resetSession` and `_onClose`, overridden: a message of chunks ends with its transaction, or with
 *   the client.
 * - `SMTPConnection._dataStream`: while a complete message is stored, the library does not count the time as silence.
 * - `SMTPConnection._whenWritable`: a client that reads no replies must not fill the memory with them.
 *
 * tests/mail/smtp/smtp-chunks fails without any of them but the last.
 */
import { PassThrough } from 'node:stream'
import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server'
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js'
import { SMTPStream } from 'smtp-server/lib/smtp-stream.js'
import type { ArrivingChunk } from './gate'
import type { SmtpRefusal, SmtpReply } from './reply'

/** The bytes of a chunk that have not come yet, and who takes them. */
type Chunk = {
  left: number
  /** Resolves when more may come. */
  take: (bytes: Buffer) => Promise<void> | undefined
  /** Answers the chunk. @param next reads on */
  end: (next: () => void) => void
}

class ChunkParser extends SMTPStream {
  #chunk: Chunk | undefined

  /** Reads no commands from now on, until this many bytes have come. */
  startChunk(chunk: Chunk): void {
    this.#chunk = chunk
    this._dataMode = true
  }

  override _feedDataStream(bytes: Buffer, done: (error?: Error | null) => void): void {
    const chunk = this.#chunk
    if (!chunk) {
      super._feedDataStream(bytes, done)
      return
    }
    const taken = bytes.subarray(0, chunk.left)
    const rest = bytes.subarray(taken.length)
    chunk.left -= taken.length
    const goOn = () => {
      if (chunk.left > 0) return done()
      this.#chunk = undefined
      this._dataMode = false
      chunk.end(() => this._write(rest, 'buffer', done))
    }
    const waiting = chunk.take(taken)
    if (waiting) waiting.then(goOn)
    else goOn()
  }
}

/** `BDAT size [LAST]`; a size of more digits than can be counted is still too large. */
const BDAT = /^BDAT +(\d{1,20})( +LAST)? *$/i
/** Chunks of this size count as no command: they are limited by the size of the message. */
const WORTH_A_COMMAND = 1024

/** A message of which chunks have come. */
type Message = {
  stream: SMTPServerDataStream
  size: number
  /** The reply of the one who stores it, once it is known. */
  answer: Promise<SmtpReply>
  /** The same, before the message is complete: it failed. */
  failure?: SmtpReply
}

/** The library's connection, with BDAT. */
export abstract class ChunkConnection extends SMTPConnection {
  #message: Message | undefined

  /** The reason why a chunk cannot be taken. Never rejects. */
  protected abstract findChunkRefusal(chunk: ArrivingChunk): Promise<SmtpRefusal | undefined>

  /** True for a chunk that is limited by its size. */
  isLargeChunk(command: string): boolean {
    return Number(BDAT.exec(command)?.[1] ?? 0) >= WORTH_A_COMMAND
  }

  override _createParser(): SMTPStream {
    const parser = new ChunkParser({ maxCommandLength: this._server.options.maxCommandLength })
    parser.oncommand = (command, callback) => this._onCommand(command, callback)
    parser.on('error', (error) => this.send(421, `Error: ${error.message}`))
    return parser
  }

  /** Drops a message that came in part: the client begins anew. */
  override _resetSession(): void {
    this.#drop('The transaction ended before the message')
    super._resetSession()
  }

  override _onClose(): void {
    this.#drop('Connection closed before the message was received in full')
    super._onClose()
  }

  #drop(reason: string): void {
    const stream = this.#message?.stream
    this.#message = undefined
    if (!stream || stream.writableEnded) return
    stream.destroy(stream.listenerCount('error') > 0 ? new Error(reason) : undefined)
  }

  override handler_DATA(command: Buffer, callback: () => void): void {
    const is_binary = this.session.envelope?.bodyType === 'binarymime'
    if (!this.#message && !is_binary) {
      super.handler_DATA(command, callback)
      return
    }
    this.send(503, is_binary ? 'Error: BINARYMIME needs BDAT' : 'Error: BDAT has begun the message')
    callback()
  }

  /** A chunk is answered when it has come. One that cannot be taken is answered before, and its bytes are dropped. */
  async handler_BDAT(command: Buffer, callback: () => void): Promise<void> {
    const [, digits, last] = BDAT.exec(command.toString('latin1')) ?? []
    if (digits === undefined) {
      this.send(501, 'Error: Syntax: BDAT size [LAST]')
      return callback()
    }
    const size = Number(digits)
    const refusal = await this.#findRefusal(size)
    if (this._closing || this._closed || !this._parser) return callback()
    const parser = this._parser as ChunkParser
    if (refusal) {
      this.send(refusal.code, refusal.text)
      if (refusal.code !== 503) this.#endTransaction()
      if (size > 0) parser.startChunk({ left: size, take: () => undefined, end: (next) => next() })
      return callback()
    }
    this.#message ??= this.#begin()
    const message = this.#message
    message.size += size
    const end = (next: () => void) => void this.#end(message, size, last !== undefined, () => this._whenWritable(next))
    if (size === 0) return end(callback)
    parser.startChunk({ left: size, take: (bytes) => write(message.stream, bytes), end })
    callback()
  }

  async #findRefusal(size: number): Promise<{ code: number; text: string } | undefined> {
    if (!this.hostNameAppearsAs) return { code: 503, text: 'Error: send HELO/EHLO first' }
    if (!this.session.envelope?.rcptTo.length) return { code: 503, text: 'Error: need RCPT command' }
    const message = this.#message
    const { failure } = message ?? {}
    if (failure) return { code: failure.responseCode, text: failure.message }
    return this.findChunkRefusal({ size: (message?.size ?? 0) + size, is_first: !message })
  }

  #begin(): Message {
    const stream: SMTPServerDataStream = Object.assign(new PassThrough(), { byteLength: 0, sizeExceeded: false })
    const { promise: answer, resolve } = Promise.withResolvers<SmtpReply>()
    const message: Message = { stream, size: 0, answer }
    this._server.onData(stream, this.session as SMTPServerSession, (given) => {
      const reply = given as SmtpReply
      if (!stream.writableEnded) message.failure = reply
      resolve(reply)
    })
    return message
  }

  /** Answers a chunk that has come: the last one once its message is stored. */
  async #end(message: Message, size: number, is_last: boolean, next: () => void): Promise<void> {
    if (this.#message !== message) return next()
    if (!is_last && !message.failure) {
      this.send(250, `${size} octets received`)
      return next()
    }
    if (!message.failure) {
      message.stream.end()
      this._dataStream = message.stream
    }
    const { responseCode, message: text } = await message.answer
    this._dataStream = false
    this.send(responseCode, text)
    this.#endTransaction()
    next()
  }

  #endTransaction(): void {
    this._transactionCounter += 1
    this._unrecognizedCommands = 0
    this._resetSession()
  }
}

/** Writes bytes of a message. @returns what to wait for, when its reader is slower */
function write(stream: SMTPServerDataStream, bytes: Buffer): Promise<void> | undefined {
  stream.byteLength += bytes.length
  // The rest is dropped once its reader has given up.
  if (!stream.writable || stream.write(bytes) || stream.destroyed) return undefined
  const { promise, resolve } = Promise.withResolvers<void>()
  stream.once('drain', resolve)
  stream.once('close', resolve)
  return promise.finally(() => {
    stream.off('drain', resolve)
    stream.off('close', resolve)
  })
}
