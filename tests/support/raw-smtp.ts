/** A foreign SMTP server, line by line: for behaviour that no proper server shows. */
import type { Socket } from 'node:net'
import { startRawReceiver } from './raw-receiver'

export type RawSmtpOptions = {
  /** Besides the name, in the answer to EHLO. */
  extensions?: string[]
  /** Its first line; null hangs up instead. */
  greeting?: string | null
  answer?: RawAnswer
  /** From the start of a connection on. */
  tls?: boolean
}

/**
 * The reply to a command, or to the end of the message, which is `.`; undefined leaves it to the server. `null` hangs
 * up, and '' says nothing. Of a message that has come in part, `..`, only `null` counts.
 */
export type RawAnswer = (line: string, connection: number) => string | null | undefined

/** Starts it on loopback; it takes everything that `answer` does not decide. */
export async function startRawSmtp({
  extensions = [],
  greeting = '220 raw ESMTP',
  answer,
  tls = false,
}: RawSmtpOptions = {}) {
  /** Whole messages, as sent, whatever was answered to them. */
  const messages: string[] = []
  const lines: string[] = []
  let decide = answer
  const receiver = await startRawReceiver(converse, { tls })

  return {
    port: receiver.port,
    messages,
    /** Every command. */
    lines,
    connections: () => receiver.sockets.length,
    /** Replaces the answers; without an argument everything is taken again. */
    answer: (next?: RawAnswer) => {
      decide = next
    },
    [Symbol.dispose]: () => receiver[Symbol.dispose](),
  }

  function converse(socket: Socket, connection: number) {
    let unread = ''
    let in_message = false
    if (greeting === null) socket.end()
    else socket.write(`${greeting}\r\n`)
    socket.on('data', (bytes) => {
      unread += bytes.toString('latin1')
      while (!socket.destroyed && (in_message ? takeMessage() : takeLine()));
    })

    function takeLine(): boolean {
      const end = unread.indexOf('\r\n')
      if (end < 0) return false
      const line = unread.slice(0, end)
      unread = unread.slice(end + 2)
      lines.push(line)
      const text = reply(line)
      in_message = /^data$/i.test(line) && text.startsWith('354')
      return true
    }

    function takeMessage(): boolean {
      const end = unread.indexOf('\r\n.\r\n')
      if (end < 0) {
        if (decide?.('..', connection) === null) socket.destroy()
        return false
      }
      messages.push(unread.slice(0, end + 2))
      unread = unread.slice(end + 5)
      in_message = false
      reply('.')
      return true
    }

    function reply(line: string): string {
      const decided = decide?.(line, connection)
      const text = decided === undefined ? usual(line) : (decided ?? '')
      if (text !== '') socket.write(`${text}\r\n`)
      if (decided === null || /^quit$/i.test(line)) socket.end()
      return text
    }
  }

  function usual(line: string): string {
    const [verb] = line.toUpperCase().split(' ')
    if (verb === 'EHLO')
      return ['raw', ...extensions].map((one, i, { length }) => `250${i < length - 1 ? '-' : ' '}${one}`).join('\r\n')
    if (verb === 'DATA') return '354 Go on'
    if (verb === '.') return '250 2.0.0 Taken'
    return verb === 'QUIT' ? '221 Bye' : '250 OK'
  }
}
