/** Receivers that break the rules, each a real socket: their cost is bounded, and the connection ends. */
import { describe, expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import { postWebhook } from '../../../src/delivery/webhooks/post'
import { issueCertificate } from '../../support/certificates'
import { drip, startRawReceiver, writeForever } from '../../support/raw-receiver'
import { LOOPBACK } from '../../support/receiver'

const { ca } = await issueCertificate()
const HEAD = 'HTTP/1.1 200 OK\r\n'
const MIB = 2 ** 20

const post = (url: string, timeout_ms = 5000) =>
  postWebhook({ url, headers: {}, body: '{}', allowed: LOOPBACK, ca, timeout_ms })

describe('a receiver runs into the time limit, and is let go, when it', () => {
  test('accepts the connection and never starts TLS', async () => {
    using receiver = await startRawReceiver((socket) => socket.resume(), { tls: false })
    expect(await post(receiver.url, 600)).toMatchObject({ error: 'timeout', blame: 'receiver', response_code: null })
    await receiver.closed()
  })

  test('never answers', async () => {
    using receiver = await startRawReceiver((socket) => socket.resume())
    expect(await post(receiver.url, 600)).toMatchObject({ error: 'timeout', blame: 'receiver', response_code: null })
    await receiver.closed()
  })

  test('never reads what is sent', async () => {
    using receiver = await startRawReceiver((socket) => socket.pause())
    const request = { url: receiver.url, headers: {}, allowed: LOOPBACK, ca, timeout_ms: 1000 }
    expect((await postWebhook({ ...request, body: new Uint8Array(16 * MIB) })).error).toBe('timeout')
    for (const socket of receiver.sockets) socket.resume()
    await receiver.closed()
  })

  test('answers by the byte', async () => {
    using receiver = await startRawReceiver((socket) => drip(socket, `${HEAD}X-Slow: ${'a'.repeat(1000)}`))
    expect(await post(receiver.url, 600)).toMatchObject({ error: 'timeout', response_code: null })
    await receiver.closed()
  })

  test('stops within the headers', async () => {
    using receiver = await startRawReceiver((socket) => socket.resume().write(`${HEAD}Content-Length: 2\r\n`))
    expect((await post(receiver.url, 600)).error).toBe('timeout')
    await receiver.closed()
  })

  test('sends interim responses without end', async () => {
    using receiver = await startRawReceiver((socket) => {
      const timer = setInterval(() => socket.write('HTTP/1.1 100 Continue\r\n\r\n'), 10)
      socket.resume().once('close', () => clearInterval(timer))
    })
    expect((await post(receiver.url, 600)).error).toBe('timeout')
    await receiver.closed()
  })
})

describe('a success is decided by the headers, and the body costs little, when it', () => {
  test('never comes to an end', async () => {
    const bodies = ['Content-Length: 100\r\n\r\n', '\r\n', 'Transfer-Encoding: chunked\r\n\r\nff\r\n']
    // At the same time, because each takes the two seconds that a body may take.
    const attempts = bodies.map(async (body) => {
      using receiver = await startRawReceiver((socket) => socket.resume().write(`${HEAD}${body}begin`))
      const answer = await post(receiver.url)
      await receiver.closed()
      return answer
    })
    for (const answer of await Promise.all(attempts)) {
      expect(answer).toMatchObject({ ok: true, response_code: 200, response_head: 'begin', error: null })
      expect(answer.response_time_ms).toBeLessThan(2000)
    }
  })

  test.each([
    ['has a gigabyte', `Content-Length: ${2 ** 30}\r\n\r\n`, 'x'.repeat(MIB)],
    ['comes for ever', '\r\n', 'x'.repeat(MIB)],
    ['comes in chunks for ever', 'Transfer-Encoding: chunked\r\n\r\n', `10000\r\n${'x'.repeat(65_536)}\r\n`],
  ])('%s', async (_, rest, piece) => {
    using receiver = await startRawReceiver((socket) => {
      socket.resume().write(HEAD + rest)
      writeForever(socket, piece)
    })
    expect(await post(receiver.url)).toMatchObject({ ok: true, response_head: 'x'.repeat(4096) })
    await receiver.closed()
    expect(receiver.sockets[0]!.bytesWritten).toBeLessThan(32 * MIB)
  })

  test('is a gzip bomb, which is not unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * MIB))
    using receiver = await startRawReceiver((socket) => {
      socket.once('data', () => {
        socket.write(`${HEAD}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`)
        socket.write(bomb)
      })
    })
    const answer = await post(receiver.url)
    expect(answer).toMatchObject({ ok: true, response_code: 200 })
    // The first bytes of gzip; the second is not text.
    expect(answer.response_head).toStartWith('\u001f\ufffd')
  })

  test('is longer than it said', async () => {
    using receiver = await startRawReceiver((socket) => {
      socket.once('data', () => socket.write(`${HEAD}Content-Length: 2\r\n\r\nok${HEAD}\r\nHTTP/1.1 500 Oh no\r\n\r\n`))
    })
    expect(await post(receiver.url)).toMatchObject({ ok: true, response_head: 'ok' })
    // The next request must not take the rest for its answer.
    expect(await post(receiver.url)).toMatchObject({ ok: true, response_head: 'ok' })
  })

  test('is broken off', async () => {
    using receiver = await startRawReceiver((socket) => {
      socket.once('data', () => socket.end(`${HEAD}Content-Length: 100\r\n\r\nbegin`))
    })
    expect(await post(receiver.url)).toMatchObject({ ok: true, response_code: 200, error: null })
  })
})

describe('a receiver fails at once when it', () => {
  test.each([
    ['closes after the connection', false],
    ['closes after the handshake', true],
  ])('%s', async (_, tls) => {
    using receiver = await startRawReceiver((socket) => socket.end(), { tls })
    expect(await post(receiver.url)).toMatchObject({ ok: false, error: 'reset', blame: 'receiver' })
  })

  test('resets the connection', async () => {
    using receiver = await startRawReceiver((socket) => socket.resetAndDestroy(), { tls: false })
    expect(await post(receiver.url)).toMatchObject({ ok: false, error: 'reset', blame: 'receiver' })
    expect(receiver.sockets).toHaveLength(1)
  })

  test('resets after the request', async () => {
    using receiver = await startRawReceiver((socket) => socket.once('data', () => socket.destroy()))
    expect(await post(receiver.url)).toMatchObject({ ok: false, error: 'reset', blame: 'receiver' })
    expect(receiver.sockets).toHaveLength(1)
  })

  test('speaks HTTP without TLS', async () => {
    using receiver = await startRawReceiver((socket) => socket.once('data', () => socket.end(`${HEAD}\r\n`)), {
      tls: false,
    })
    expect(await post(receiver.url)).toMatchObject({ ok: false, error: 'tls', blame: 'receiver', response_code: null })
  })

  test.each([
    ['sends garbage', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
    ['sends bytes that are no text', '\u0000\u0001\u00ff\u00fe'.repeat(100)],
    ['sends a status that is no number', 'HTTP/1.1 abc OK\r\n\r\n'],
    ['wants another protocol', 'HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'],
  ])('%s', async (_, text) => {
    using receiver = await startRawReceiver((socket) => socket.once('data', () => socket.end(text, 'latin1')))
    const answer = await post(receiver.url)
    expect(answer).toMatchObject({ ok: false, blame: 'receiver', response_code: null })
    expect(['protocol', 'reset']).toContain(answer.error!)
  })

  test('sends headers without end', async () => {
    using receiver = await startRawReceiver((socket) => {
      socket.resume().write(HEAD)
      writeForever(socket, `X-More: ${'a'.repeat(60_000)}\r\n`)
    })
    expect(await post(receiver.url)).toMatchObject({ ok: false, error: 'protocol', blame: 'receiver' })
    await receiver.closed()
    expect(receiver.sockets[0]!.bytesWritten).toBeLessThan(32 * MIB)
  })
})
