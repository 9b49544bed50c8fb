/** The request to a receiver: its bytes, its destination, its TLS. Bad receivers: webhook-hostile-receivers.test.ts. */
import { afterEach, describe, expect, test } from 'bun:test'
import type { Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import path from 'node:path'
import ipaddr from 'ipaddr.js'
import type { Lookup } from '../../../src/base/net/destination'
import { postWebhook, type WebhookRequest } from '../../../src/delivery/webhooks/post'
import { issueCertificate, issueExpiredCertificate } from '../../support/certificates'
import { freePort } from '../../support/ports'
import { startRawReceiver } from '../../support/raw-receiver'
import { LOOPBACK, startReceiver } from '../../support/receiver'

const { ca } = await issueCertificate()
const HAS_IPV6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))

const post = (request: Partial<WebhookRequest> & { url: string }) =>
  postWebhook({ headers: {}, body: '{}', allowed: LOOPBACK, ca, timeout_ms: 60_000, ...request })

const resolvesTo =
  (...addresses: string[]): Lookup =>
  () =>
    Promise.resolve(addresses)

describe('a request', () => {
  test('carries the headers and the exact bytes', async () => {
    using receiver = await startReceiver()
    const body = new Uint8Array([123, 0, 255, 13, 10, 125])
    const answer = await post({ url: `${receiver.url}?a=%20b#c`, body, headers: { 'x-service-event': 'test.ping' } })
    expect(answer).toMatchObject({ ok: true, response_code: 200, error: null, blame: null, response_head: '' })
    const [request] = receiver.requests
    expect(request!.method).toBe('POST')
    expect(request!.path).toBe('/hook?a=%20b')
    expect(request!.body).toEqual(body)
    expect(request!.headers.get('x-service-event')).toBe('test.ping')
    expect(request!.headers.get('host')).toBe(`localhost:${receiver.port}`)
    expect(request!.headers.get('accept-encoding')).toBe('identity')
  })

  test.each([200, 201, 204, 299])('answered with %i is a success', async (status) => {
    using receiver = await startReceiver({ answer: status })
    expect(await post(receiver)).toMatchObject({ ok: true, response_code: status, error: null })
  })

  test.each([301, 304, 307, 400, 404, 410, 429, 500, 503])('answered with %i is a failure', async (status) => {
    using receiver = await startReceiver({ answer: status })
    const answer = await post(receiver)
    expect(answer).toMatchObject({ ok: false, response_code: status, error: 'status', blame: 'receiver' })
  })

  test('keeps the beginning of the response, of a failure too', async () => {
    using receiver = await startReceiver({ answer: { status: 500, body: `Überlast ${'x'.repeat(10_000)}` } })
    const { response_head } = await post(receiver)
    expect(response_head).toStartWith('Überlast xxx')
    expect(Buffer.byteLength(response_head)).toBe(4096)
  })

  test('does not cut a character of the response in half', async () => {
    using receiver = await startReceiver({ answer: { body: `x${'é'.repeat(4096)}` } })
    expect((await post(receiver)).response_head).toBe(`x${'é'.repeat(2047)}`)
  })

  test('goes to each receiver on its own connection, which is kept for the next', async () => {
    using receiver = await startRawReceiver((socket) => {
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'))
    })
    for (let number = 0; number < 3; number++) expect((await post(receiver)).ok).toBeTrue()
    expect(receiver.sockets).toHaveLength(1)
  })

  test('on a kept connection that the receiver closes at that moment goes out again on a new one', async () => {
    const first: Socket[] = []
    using receiver = await startRawReceiver((socket) => {
      socket.once('data', () => {
        if (first.length < 2) first.push(socket)
        else return answer(socket)
        // Both at the same time, so that two connections are kept.
        if (first.length === 2) for (const kept of first) answer(kept)
      })
    })
    const answer = (socket: Socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      socket.once('data', () => socket.destroy())
    }
    const both = await Promise.all([post(receiver), post(receiver)])
    expect(both.map(({ ok }) => ok)).toEqual([true, true])
    expect((await post(receiver)).ok).toBeTrue()
    expect(receiver.sockets).toHaveLength(3)
  })

  test('goes once to a receiver that breaks off each time, but for the first time after an answer', async () => {
    let requests = 0
    using receiver = await startRawReceiver((socket) => {
      socket.on('data', () => {
        requests++
        if (requests === 2) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
        else socket.destroy()
      })
    })
    const counts: number[] = []
    for (let attempt = 0; attempt < 4; attempt++) {
      await post(receiver)
      counts.push(requests)
    }
    expect(counts).toEqual([1, 2, 4, 5])
  })
})

describe('a redirect', () => {
  test.each([301, 302, 303, 307, 308])('%i is never followed', async (status) => {
    using other = await startReceiver()
    using receiver = await startReceiver({ answer: { status, headers: { location: other.url } } })
    expect(await post(receiver)).toMatchObject({ ok: false, response_code: status, error: 'status' })
    expect(receiver.requests).toHaveLength(1)
    expect(other.requests).toHaveLength(0)
  })

  test('to cloud metadata or to the receiver itself is a failure of one request', async () => {
    using receiver = await startReceiver()
    for (const location of ['http://169.254.169.254/latest/meta-data/', receiver.url, '/hook', '//localhost/']) {
      receiver.answer = { status: 302, headers: { location } }
      expect(await post(receiver)).toMatchObject({ ok: false, response_code: 302, error: 'status' })
    }
    expect(receiver.requests).toHaveLength(4)
  })
})

describe('the address', () => {
  test('is looked up once for each attempt and judged each time', async () => {
    using receiver = await startReceiver({ names: ['rebind.test'] })
    using trap = await startRawReceiver(() => {}, { address: '127.0.0.2' })
    const answers = [['127.0.0.1'], ['127.0.0.2']]
    const lookups: string[] = []
    const lookup: Lookup = async (name) => {
      lookups.push(name)
      return answers.shift() ?? ['127.0.0.2']
    }
    const allowed = [ipaddr.parseCIDR('127.0.0.1/32')]
    expect(await post({ url: `https://rebind.test:${receiver.port}/`, lookup, allowed })).toMatchObject({ ok: true })
    expect(lookups).toEqual(['rebind.test'])
    const second = await post({ url: `https://rebind.test:${trap.port}/`, lookup, allowed })
    expect(second).toMatchObject({ ok: false, error: 'blocked_address', blame: 'receiver' })
    expect(lookups).toHaveLength(2)
    expect(trap.sockets).toHaveLength(0)
  })

  test('is refused when one of several is not allowed', async () => {
    using receiver = await startReceiver()
    const answer = await post({ url: receiver.url, lookup: resolvesTo('127.0.0.1', '10.0.0.1') })
    expect(answer.error).toBe('blocked_address')
    expect(receiver.requests).toHaveLength(0)
  })

  test('is the next one when the first cannot be connected to', async () => {
    using receiver = await startReceiver()
    const answer = await post({ url: receiver.url, lookup: resolvesTo('127.0.0.2', '::1', '127.0.0.1') })
    expect(answer.ok).toBeTrue()
  })

  test('is not the next one once a connection stood', async () => {
    const port = await freePort()
    const hangUp = (socket: Socket) => void socket.end('no HTTP\r\n\r\n')
    using broken = await startRawReceiver(hangUp, { address: '127.0.0.2', port })
    using next = await startRawReceiver(() => {}, { port })
    const answer = await post({ url: broken.url, lookup: resolvesTo('127.0.0.2', '127.0.0.1') })
    expect(answer).toMatchObject({ ok: false, blame: 'receiver', response_code: null })
    expect(next.sockets).toHaveLength(0)
  })

  test('where nobody listens is a failure of the receiver', async () => {
    const { url } = await nowhere()
    expect(await post({ url })).toMatchObject({ error: 'connect', blame: 'receiver', response_code: null })
  })

  test('of a name that does not exist is a failure of the receiver', async () => {
    const lookup: Lookup = () => Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' }))
    expect(await post({ url: 'https://none.test/', lookup })).toMatchObject({ error: 'dns', blame: 'receiver' })
  })

  test.each([
    'file:///etc/hostname',
    'http://localhost/',
    'data:,x',
    'https://u:p@localhost/',
    'https://localhost:25/',
  ])('is not even looked for when the URL is %s', async (url) =>
    expect((await post({ url })).error).toBe('blocked_address'),
  )
})

describe('a proxy of the environment', () => {
  const NAMES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']
  const before = NAMES.map((name) => [name, process.env[name]] as const)

  afterEach(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })

  test('is not used', async () => {
    using proxy = await startRawReceiver((socket) => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'), { tls: false })
    using receiver = await startReceiver()
    for (const name of NAMES) process.env[name] = `http://127.0.0.1:${proxy.port}`
    expect((await post(receiver)).ok).toBeTrue()
    expect(proxy.sockets).toHaveLength(0)
    await fetch(receiver.url, { tls: { ca } }).catch(() => {})
    expect(proxy.sockets).toHaveLength(1)
  })
})

describe('the certificate', () => {
  test('is checked against the name, not the address', async () => {
    using receiver = await startReceiver({ names: ['named.test'] })
    const lookup = resolvesTo('127.0.0.1')
    expect((await post({ url: `https://named.test:${receiver.port}/`, lookup })).ok).toBeTrue()
    // The root's dot is no part of a certificate's name.
    expect((await post({ url: `https://named.test.:${receiver.port}/`, lookup })).ok).toBeTrue()
    const other = await post({ url: `https://other.test:${receiver.port}/`, lookup })
    expect(other).toMatchObject({ error: 'tls', blame: 'receiver', response_code: null })
    expect((await post({ url: `https://127.0.0.1:${receiver.port}/` })).error).toBe('tls')
    expect(receiver.requests).toHaveLength(2)
  })

  test('is checked against the address when the URL has no name', async () => {
    using receiver = await startReceiver()
    expect((await post({ url: `https://127.0.0.1:${receiver.port}/` })).ok).toBeTrue()
    expect((await post({ url: `https://[::ffff:127.0.0.1]:${receiver.port}/` })).ok).toBeTrue()
  })

  test.skipIf(!HAS_IPV6)('is checked against an address of IPv6', async () => {
    const { cert, key } = await issueCertificate(['::1'])
    const six = Bun.serve({ hostname: '::1', port: 0, tls: { cert, key }, fetch: () => new Response() })
    expect((await post({ url: `https://[::1]:${six.port}/` })).ok).toBeTrue()
    await six.stop(true)
  })

  test('must come from a known authority', async () => {
    using receiver = await startReceiver()
    expect(await post({ url: receiver.url, ca: undefined })).toMatchObject({ error: 'tls', blame: 'receiver' })
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    expect((await post({ url: receiver.url, ca: undefined })).error).toBe('tls')
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    expect(receiver.requests).toHaveLength(0)
  })

  test('must not have expired', async () => {
    const { cert, key } = await issueExpiredCertificate()
    const server = Bun.serve({ hostname: '127.0.0.1', port: 0, tls: { cert, key }, fetch: () => new Response() })
    expect((await post({ url: `https://localhost:${server.port}/` })).error).toBe('tls')
    await server.stop(true)
  })

  test("may come from the system's authorities also when another is given", async () => {
    using receiver = await startReceiver()
    const own = await inProcess('authorities', receiver.url, { NODE_EXTRA_CA_CERTS: receiver.ca_file })
    expect(own).toMatchObject({ ok: true })
    const unknown = await inProcess('authorities', receiver.url, { NODE_EXTRA_CA_CERTS: '' })
    expect(unknown).toMatchObject({ error: 'tls' })
  })
})

describe('a fault of our own does not count against the receiver', () => {
  test('when no name can be resolved', async () => {
    const lookup: Lookup = () => Promise.reject(Object.assign(new Error(), { code: 'EAI_AGAIN' }))
    expect(await post({ url: 'https://down.test/', lookup })).toMatchObject({ error: 'dns', blame: 'own' })
  })

  test('when the network cannot be reached', async () => {
    // No route leads to the broadcast address, on any machine.
    const allowed = [ipaddr.parseCIDR('255.255.255.255/32')]
    expect(await post({ url: 'https://255.255.255.255/', allowed })).toMatchObject({ error: 'connect', blame: 'own' })
  })

  test('when file descriptors are used up', async () => {
    const { url } = await nowhere()
    expect(await inProcess('descriptors', url, {}, 'ulimit -n 100; ')).toMatchObject({ error: 'connect', blame: 'own' })
  })

  test('unless another address of the receiver refuses', async () => {
    const { url } = await nowhere()
    const allowed = [...LOOPBACK, ipaddr.parseCIDR('255.255.255.255/32')]
    const answer = await post({ url, allowed, lookup: resolvesTo('255.255.255.255', '127.0.0.1') })
    expect(answer).toMatchObject({ error: 'connect', blame: 'receiver' })
  })
})

test('three hundred hanging receivers do not delay a good one', async () => {
  const answer = await inProcess('hanging', '', { BUN_CONFIG_MAX_HTTP_REQUESTS: '2048' })
  expect(answer).toEqual({ error: null, hanging: 300 })
})

/** A receiver that is not there: its port refuses connections. */
async function nowhere() {
  return { url: `https://localhost:${await freePort()}/hook` }
}

/** Runs a scenario of `support/webhook-process.ts`. */
async function inProcess(scenario: string, url: string, env: Record<string, string>, before = ''): Promise<unknown> {
  const script = path.join(import.meta.dir, '../../support/webhook-process.ts')
  const command = ['sh', '-c', `${before}exec "$@"`, 'sh', process.execPath, script, scenario, url]
  const child = Bun.spawn(command, { env: { ...process.env, ...env }, stdout: 'pipe', stderr: 'pipe' })
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  if ((await child.exited) !== 0) throw new Error(errors)
  return JSON.parse(output)
}
