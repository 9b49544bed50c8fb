import { describe, expect, test } from 'bun:test'
import { createServer } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { checkUrl, isAllowedAddress, type Lookup, resolveDestination } from '../../../src/base/net/destination'
import { postWebhook } from '../../../src/delivery/webhooks/post'

describe('the URL of a webhook', () => {
  test.each([
    'https://example.com',
    'https://example.com:8443/hook?a=b#c',
    'HTTPS://Example.com/',
    'https://[2606:4700::1111]/',
    'https://127.0.0.1/',
    'https://bücher.example/',
    `https://example.com/${'a'.repeat(2048 - 20)}`,
  ])('%p is accepted', (url) => expect(checkUrl(url)).toBeUndefined())

  test.each([
    '',
    'example.com',
    'http://example.com/',
    'file:///etc/hostname',
    'data:text/plain,hello',
    's3://bucket/key',
    'https:example.com',
    'https://',
    'https://exa mple.com/',
    ' https://example.com/',
    'https://example.com/\n',
    'https://user@example.com/',
    'https://user:password@example.com/',
    'https://:password@example.com/',
    'https://example.com:0/',
    'https://example.com:25/',
    'https://example.com:65536/',
    'https://1.2.3.4.5.6.7.8.9.256/',
    `https://example.com/${'a'.repeat(2049 - 20)}`,
  ])('%p is refused', (url) => expect(checkUrl(url)).toBeString())
})

describe('an address', () => {
  test.each([
    '8.8.8.8',
    '1.1.1.1',
    '100.63.255.255',
    '172.15.0.1',
    '172.32.0.1',
    '192.167.1.1',
    '2001:4860:4860::8888',
    '2606:4700::1111',
    '::ffff:8.8.8.8',
  ])('%s is public', (address) => expect(isAllowedAddress(address, [])).toBeTrue())

  test.each([
    ['unspecified', ['0.0.0.0', '0.1.2.3', '::']],
    ['loopback', ['127.0.0.1', '127.255.255.254', '::1']],
    ['private', ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd12:3456::1']],
    ['link-local', ['169.254.0.1', 'fe80::1', 'fe80::1%eth0', 'fec0::1']],
    ['carrier-grade', ['100.64.0.1', '100.127.255.255']],
    ['cloud metadata', ['169.254.169.254', '169.254.170.2', 'fd00:ec2::254', '100.100.100.200', '168.63.129.16']],
    ['multicast and broadcast', ['224.0.0.1', '239.255.255.255', 'ff02::1', '255.255.255.255']],
    ['reserved', ['192.0.0.192', '192.0.2.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '240.0.0.1']],
    ['reserved in IPv6', ['100::1', '2001:db8::1', '3fff::1', '5f00::1', '4000::1', '1::1']],
    ['IPv4-mapped', ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::ffff:169.254.169.254']],
    ['IPv4-compatible and translated', ['::127.0.0.1', '::7f00:1', '::ffff:0:7f00:1']],
    ['NAT64', ['64:ff9b::127.0.0.1', '64:ff9b::808:808', '64:ff9b:1::1']],
    ['6to4', ['2002:7f00:1::', '2002:808:808::1', '192.88.99.1']],
    ['Teredo', ['2001:0:4136:e378:8000:63bf:3fff:fdd2', '2001::1']],
    ['another spelling of loopback', ['0x7f.1', '0177.0.0.1', '017700000001', '2130706433', '127.1']],
    ['no address', ['', 'localhost', '127.0.0.1.', '1.2.3.4/0', '256.1.1.1']],
  ])('is refused when it is %s', (_, addresses) => {
    expect(addresses.filter((address) => isAllowedAddress(address, []))).toEqual([])
  })

  test('is refused when it is one of this host, however public', () => {
    const own = () => ['8.8.8.8', '2606:4700::1111']
    expect(isAllowedAddress('8.8.8.8', [], own)).toBeFalse()
    expect(isAllowedAddress('::ffff:8.8.8.8', [], own)).toBeFalse()
    expect(isAllowedAddress('2606:4700:0:0::1111', [], own)).toBeFalse()
    expect(isAllowedAddress('8.8.4.4', [], own)).toBeTrue()
  })

  test('is allowed in a network of the operator, and only there', () => {
    const allowed = [
      ipaddr.parseCIDR('10.1.0.0/16'),
      ipaddr.parseCIDR('fd00::/8'),
      ipaddr.parseCIDR('168.63.129.16/32'),
    ]
    const addresses = ['10.1.2.3', '::ffff:10.1.2.3', 'fd00:ec2::254', '168.63.129.16', '10.2.0.1', 'fc00::1', '::1']
    expect(addresses.filter((address) => isAllowedAddress(address, allowed))).toEqual(addresses.slice(0, 4))
  })

  test('mapped into IPv6 is judged as the IPv4 address it is', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(isAllowedAddress(`::ffff:${address}`, [])).toBe(isAllowedAddress(address, []))
      }),
    )
  })
})

describe('a host', () => {
  const stub =
    (...addresses: string[]): Lookup =>
    () =>
      Promise.resolve(addresses)
  const failing =
    (code: string): Lookup =>
    () =>
      Promise.reject(Object.assign(new Error(code), { code }))
  const resolve = (host: string, lookup?: Lookup) => resolveDestination(host, { allowed: [], lookup, timeout_ms: 50 })

  test('resolves to its addresses in order, each once, mapped ones as IPv4', async () => {
    const lookup = stub('8.8.8.8', '2606:4700::1111', '::ffff:1.1.1.1', '8.8.8.8')
    expect(await resolve('example.com', lookup)).toEqual(['8.8.8.8', '2606:4700::1111', '1.1.1.1'])
  })

  test('that is an address is not looked up', async () => {
    const lookup = failing('ENOTFOUND')
    expect(await resolve('[2606:4700:0::1111]', lookup)).toEqual(['2606:4700::1111'])
    expect(await resolve('134744072', lookup)).toEqual(['8.8.8.8'])
    await expect(resolve('127.0.0.1.', lookup)).rejects.toThrow('blocked_address')
  })

  test('is refused when one of its addresses is', async () => {
    await expect(resolve('mixed.test', stub('8.8.8.8', '10.0.0.1'))).rejects.toThrow('blocked_address')
    await expect(resolve('mapped.test', stub('::ffff:a00:1'))).rejects.toThrow('blocked_address')
  })

  test('without an address is at fault', async () => {
    await expect(resolve('none.test', stub())).rejects.toMatchObject({ reason: 'dns' })
    await expect(resolve('none.test', failing('ENOTFOUND'))).rejects.toMatchObject({ reason: 'dns' })
    await expect(resolve('none.test', failing('ENODATA'))).rejects.toMatchObject({ reason: 'dns' })
  })

  test('is not at fault when no name resolves', async () => {
    let works = true
    const lookup: Lookup = (name) => (works ? stub('8.8.8.8')(name) : failing('EAI_AGAIN')(name))
    await resolve('first.test', lookup)
    works = false
    await expect(resolve('second.test', lookup)).rejects.toMatchObject({ reason: 'dns_local' })
    await expect(resolve('first.test', lookup)).rejects.toMatchObject({ reason: 'dns_local' })
  })

  test('is at fault when its name servers fail while another name resolves', async () => {
    const lookup: Lookup = (name) => (name === 'broken.test' ? failing('ESERVFAIL')(name) : stub('8.8.8.8')(name))
    await resolve('good.test', lookup)
    await expect(resolve('broken.test', lookup)).rejects.toMatchObject({ reason: 'dns' })
  })

  test('whose lookup never ends is given up', async () => {
    const lookup: Lookup = () => new Promise(() => {})
    await expect(resolve('silent.test', lookup)).rejects.toMatchObject({ reason: 'dns_local' })
  })
})

test('no spelling of this host is connected to', async () => {
  let connections = 0
  const listener = createServer((socket) => {
    connections++
    socket.destroy()
  })
  await new Promise<void>((ready) => listener.listen(0, '::', ready))
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  const hosts = [
    'localhost',
    'LOCALHOST',
    'localhost.',
    hostname(),
    '127.0.0.1',
    '127.0.0.1.',
    '127.1',
    '0x7f.1',
    '0177.0.0.1',
    '017700000001',
    '2130706433',
    '①②⑦.0.0.1',
    '0',
    '0.0.0.0',
    '[::]',
    '[::1]',
    '[::127.0.0.1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[64:ff9b::127.0.0.1]',
    ...own
      .filter(({ scopeid }) => !scopeid)
      .map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address)),
  ]
  const { port } = listener.address() as { port: number }
  const attempts = hosts.map(async (host) => {
    const url = `https://${host}:${port}/`
    const { error } = await postWebhook({ url, headers: {}, body: '', allowed: [], timeout_ms: 60_000 })
    return [host, error]
  })
  const answers = await Promise.all(attempts)
  listener.close()
  // A host need not be able to resolve its own name.
  const reachable = answers.filter(([host, error]) => !(host === hostname() && error === 'dns'))
  expect(reachable.filter(([, error]) => error !== 'blocked_address')).toEqual([])
  expect(connections).toBe(0)
})
