/** SMTP over real sockets: a client that shows the answers of a server, and a sink that records mail. */
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { createTransport, type SendMailOptions } from 'nodemailer'
import { SMTPServer } from 'smtp-server'
import { issueCertificate } from './certificates'

export type SmtpDialog = Disposable & {
  /** The next whole reply, lines joined with `\n`. Rejects when the connection ends before it. */
  read: () => Promise<string>
  /** Sends a line and reads its reply. */
  command: (line: string) => Promise<string>
  /** Sends bytes as they are. */
  write: (bytes: string | Uint8Array) => void
  /**
   * STARTTLS, without a look at the certificate unless `ca` is given. `injected` goes in clear text with the command.
   */
  startTls: (options?: { ca?: string; servername?: string; injected?: string }) => Promise<void>
  /** Resolves when the server has closed the connection. */
  closed: Promise<void>
  /** Breaks the connection. */
  destroy: () => void
  /** The socket of the moment. */
  socket: () => Socket
}

/**
 * Opens a bare connection and reads nothing yet: the greeting is the first `read`. @param localAddress of the client
 */
export async function smtpDialog(port: number, host = '127.0.0.1', localAddress?: string): Promise<SmtpDialog> {
  let socket: Socket = connect({ host, port, ...(localAddress && { localAddress }) })
  let unread = ''
  let ended = false
  let wake = Promise.withResolvers<void>()
  const { promise: closed, resolve: close } = Promise.withResolvers<void>()
  listen()
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))

  return { read, command, write, startTls, closed, destroy, socket: () => socket, [Symbol.dispose]: destroy }

  function listen() {
    socket.setNoDelay(true)
    socket.on('data', (bytes) => notice(bytes.toString('latin1')))
    socket.on('error', () => {})
    socket.on('close', () => {
      ended = true
      notice('')
      close()
    })
  }

  function notice(text: string) {
    unread += text
    wake.resolve()
    wake = Promise.withResolvers()
  }

  async function read(): Promise<string> {
    for (;;) {
      const reply = /^(?:\d{3}-[^\n]*\n)*\d{3}(?: [^\n]*)?\n/.exec(unread)?.[0]
      if (reply !== undefined) {
        unread = unread.slice(reply.length)
        return reply.replaceAll('\r\n', '\n').trimEnd()
      }
      if (ended) throw new Error(`connection closed, unread: ${JSON.stringify(unread)}`)
      await wake.promise
    }
  }

  function command(line: string) {
    write(`${line}\r\n`)
    return read()
  }

  function write(bytes: string | Uint8Array) {
    socket.write(bytes)
  }

  async function startTls({
    ca,
    servername,
    injected = '',
  }: {
    ca?: string
    servername?: string
    injected?: string
  } = {}) {
    const reply = await command(`STARTTLS\r\n${injected}`.trimEnd())
    if (!reply.startsWith('220')) throw new Error(reply)
    socket.removeAllListeners('data')
    socket.removeAllListeners('close')
    const secure = connectTls({ socket, ca, servername, rejectUnauthorized: ca !== undefined })
    socket = secure
    await new Promise<void>((resolve, reject) => secure.once('secureConnect', resolve).once('error', reject))
    listen()
  }

  function destroy() {
    socket.destroy()
  }
}

/** A session that has said EHLO: what the listener waits before its greeting is then over. */
export async function startSession(port: number): Promise<SmtpDialog> {
  const dialog = await smtpDialog(port)
  await dialog.read()
  await dialog.command('EHLO client.test')
  return dialog
}

/** A session up to the point where the message is expected. */
export async function startData(port: number, from: string, to: string): Promise<SmtpDialog> {
  const dialog = await startSession(port)
  for (const line of [`MAIL FROM:<${from}>`, `RCPT TO:<${to}>`]) await dialog.command(line)
  const reply = await dialog.command('DATA')
  if (!reply.startsWith('354')) throw new Error(reply)
  return dialog
}

export type SessionMail = {
  from: string
  to: string | string[]
  /** The message itself, line ends as they are; without it one is made of `mail`. */
  raw?: string | Uint8Array
  mail?: SendMailOptions
}

export type ClientMail = SessionMail & {
  port: number
  /** Upgrades with STARTTLS first. */
  tls?: boolean
}

export type ClientResult = {
  /** Code of the message: 250 when the server took it, else the last refusal. */
  code: number
  response: string
  /** The reply to each RCPT, by address. */
  recipients: Record<string, string>
}

/**
 * Delivers one message as another mail server would, and gives the answers. A refusal is a result, no error.
 * @throws when the connection breaks
 */
export async function sendMail({ port, tls, ...mail }: ClientMail): Promise<ClientResult> {
  using dialog = await smtpDialog(port)
  const greeting = await dialog.read()
  if (!greeting.startsWith('220')) return resultOf(greeting)
  await dialog.command('EHLO client.example.test')
  if (tls) {
    await dialog.startTls()
    await dialog.command('EHLO client.example.test')
  }
  const result = await sendInSession(dialog, mail)
  await dialog.command('QUIT').catch(() => {})
  return result
}

/** The same in a session that was started, as a relay sends many. After a refusal the session is of no use. */
export async function sendInSession(dialog: SmtpDialog, { from, to, raw, mail }: SessionMail): Promise<ClientResult> {
  const recipients: Record<string, string> = {}
  const utf8 = /[^\0-\x7f]/.test([from, to].flat().join('')) ? ' SMTPUTF8' : ''
  let reply = await dialog.command(`MAIL FROM:<${from}> BODY=8BITMIME${utf8}`)
  if (!reply.startsWith('250')) return resultOf(reply)
  for (const address of [to].flat()) {
    reply = await dialog.command(`RCPT TO:<${address}>`)
    recipients[address] = reply
  }
  if (!Object.values(recipients).some((answer) => answer.startsWith('25'))) return resultOf(reply, recipients)
  reply = await dialog.command('DATA')
  if (!reply.startsWith('354')) return resultOf(reply, recipients)
  dialog.write(dotStuffed(raw ?? (await buildMail({ from, to, ...mail }))))
  return resultOf(await dialog.read(), recipients)
}

function resultOf(response: string, recipients: Record<string, string> = {}): ClientResult {
  return { code: Number(response.slice(0, 3)), response, recipients }
}

/** The bytes of a message as nodemailer writes it. */
export async function buildMail(mail: SendMailOptions): Promise<Buffer> {
  const { message } = await createTransport({ streamTransport: true, buffer: true, newline: 'windows' }).sendMail(mail)
  return Buffer.from(message as Buffer)
}

/** The message as it travels in DATA, with its end. */
export function dotStuffed(raw: string | Uint8Array): Buffer {
  const text = Buffer.from(raw)
    .toString('latin1')
    .replace(/(^|\n)\./g, '$1..')
  return Buffer.from(`${text}${text.endsWith('\r\n') ? '' : '\r\n'}.\r\n`, 'latin1')
}

export type ReceivedMail = {
  raw: Buffer
  from: string
  to: string[]
  /** Parameters of MAIL, such as `SIZE`. */
  parameters: Record<string, string | true>
  tls: boolean
  user?: string
  /** Counts connections from 1. */
  connection: number
}

/** The step that the server has to answer: a MAIL, a RCPT, or the end of DATA. */
export type SinkEvent =
  | { stage: 'mail' | 'rcpt'; address: string }
  | { stage: 'data'; message: ReceivedMail; address: string }

/** A whole reply such as `450 4.2.0 Later`, or nothing to accept. A `250 ...` after DATA accepts with that text. */
export type SinkAnswer = (event: SinkEvent) => string | undefined | Promise<string | undefined>

export type SmtpSink = Disposable & {
  port: number
  /** Everything accepted, in order. */
  messages: ReceivedMail[]
  /** The number of connections so far. */
  connections: () => number
  /** Replaces the answers; without an argument all is accepted again. */
  answer: (answer?: SinkAnswer) => void
  /** Resolves when `count` messages are there; rejects after a minute. */
  waitFor: (count: number) => Promise<ReceivedMail[]>
  /** PEM of the authority to trust, with `tls`. */
  ca: string
}

export type SinkOptions = {
  /** A free one by default. */
  port?: number
  tls?: 'starttls' | 'tls'
  /** Names of the certificate; localhost and loopback by default. */
  names?: string[]
  certificate?: { key: string; cert: string; ca: string }
  /** Without it nobody has to sign in. With `tokens` by XOAUTH2 alone. `refusal` is the reply to anything else. */
  auth?: { user: string; pass?: string; tokens?: Set<string>; refusal?: string }
  /** Announced with SIZE. */
  max_bytes?: number
  answer?: SinkAnswer
}

/** Starts a foreign SMTP server: it records the mail that it takes, and fails when `answer` says so. */
export async function startSmtpSink(options: SinkOptions = {}): Promise<SmtpSink> {
  const { tls, auth } = options
  const certificate = tls ? (options.certificate ?? (await issueCertificate(options.names))) : undefined
  const messages: ReceivedMail[] = []
  const waiting = new Set<() => void>()
  let connections = 0
  let answer: SinkAnswer = options.answer ?? (() => undefined)

  const server = new SMTPServer({
    name: 'sink.example.test',
    secure: tls === 'tls',
    ...(certificate && { key: certificate.key, cert: certificate.cert }),
    size: options.max_bytes,
    authOptional: !auth,
    authMethods: auth?.tokens ? ['XOAUTH2'] : ['PLAIN', 'LOGIN'],
    allowInsecureAuth: true,
    disabledCommands: [...(tls === 'starttls' ? [] : ['STARTTLS']), ...(auth ? [] : ['AUTH'])],
    disableReverseLookup: true,
    logger: false,
    onConnect(session, callback) {
      connections += 1
      connection_numbers.set(session, connections)
      callback()
    },
    onAuth({ username, password, accessToken }, _session, callback) {
      const is_right = auth?.tokens ? auth.tokens.has(accessToken ?? '') : password === auth?.pass
      if (username === auth?.user && is_right) callback(null, { user: username })
      else if (auth?.tokens) callback(null, { data: { status: '401' } })
      else callback(refusal(auth?.refusal ?? '535 5.7.8 Authentication failed'))
    },
    onMailFrom: ({ address }, _session, callback) => void decide({ stage: 'mail', address }).then(callback),
    onRcptTo: ({ address }, _session, callback) => void decide({ stage: 'rcpt', address }).then(callback),
    onData(stream, session, callback) {
      const { mailFrom, rcptTo } = session.envelope
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('error', () => {})
      stream.on('end', async () => {
        const message: ReceivedMail = {
          raw: Buffer.concat(chunks),
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map(({ address }) => address),
          parameters: (mailFrom ? mailFrom.args : false) || {},
          tls: session.secure,
          user: session.user,
          connection: connection_numbers.get(session) ?? 0,
        }
        const reply = await decide({ stage: 'data', address: message.from, message })
        if (!reply || reply.responseCode < 400) {
          messages.push(message)
          for (const check of waiting) check()
        }
        callback(reply)
      })
    },
  })
  const connection_numbers = new WeakMap<object, number>()
  server.on('error', () => {})
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  const bound = server.server.address()
  const port = typeof bound === 'object' && bound ? bound.port : 0

  return {
    port,
    messages,
    connections: () => connections,
    answer: (next = () => undefined) => {
      answer = next
    },
    waitFor,
    ca: certificate?.ca ?? '',
    [Symbol.dispose]() {
      for (const connection of server.connections) connection._socket.destroy()
      server.close(() => {})
    },
  }

  async function decide(event: SinkEvent) {
    const text = await answer(event)
    return text === undefined ? null : refusal(text)
  }

  function waitFor(count: number): Promise<ReceivedMail[]> {
    const { promise, resolve, reject } = Promise.withResolvers<ReceivedMail[]>()
    const check = () => messages.length >= count && resolve(messages.slice(0, count))
    const timer = setTimeout(() => reject(new Error(`${messages.length} of ${count} messages arrived`)), 180_000)
    waiting.add(check)
    check()
    return promise.finally(() => {
      clearTimeout(timer)
      waiting.delete(check)
    })
  }
}

function refusal(reply: string) {
  return Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) })
}
