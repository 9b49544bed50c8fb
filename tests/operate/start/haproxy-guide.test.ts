/** The guide's haproxy in front of replicas that are not ready. */
import { expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { connect } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { WHY_NO_HAPROXY } from '../../support/haproxy'
import { freePort } from '../../support/ports'
import { until } from '../../support/service'

const FILE = path.join(import.meta.dir, '../../../src/guide/operate/haproxy.cfg')

if (WHY_NO_HAPROXY) console.warn(WHY_NO_HAPROXY)

test.skipIf(WHY_NO_HAPROXY !== undefined)(
  'while no replica is ready, requests get 503 in the form of the API, and mail is kept by its sender',
  async () => {
    const [http, smtp, nowhere] = [await freePort(), await freePort(), await freePort()]
    const configuration = fs
      .readFileSync(FILE, 'utf8')
      .replace('bind :80', `bind 127.0.0.1:${http}`)
      .replace('bind :25', `bind 127.0.0.1:${smtp}`)
      .replaceAll(/10\.0\.0\.1[12]:\d+/g, `127.0.0.1:${nowhere}`)
      .replaceAll(/port 3000/g, `port ${nowhere}`)
      .replace('inter 2s', 'inter 200ms')
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'haproxy-'))
    const file = path.join(folder, 'haproxy.cfg')
    fs.writeFileSync(file, configuration)
    const program = spawn('haproxy', ['-db', '-f', file], {
      env: { PATH: `${process.env.PATH}:/usr/sbin` },
      stdio: 'ignore',
    })
    try {
      const ask = () => fetch(`http://127.0.0.1:${http}/api/v1/tickets`).catch(() => undefined)
      await until('haproxy serves', async () => (await ask()) !== undefined)
      const answer = (await ask())!
      expect([answer.status, answer.headers.get('content-type'), answer.headers.get('retry-after')]).toEqual([
        ...[503, 'application/json', '5'],
      ])
      expect(await answer.json()).toEqual({
        error: { code: 'SERVICE_UNAVAILABLE', message: expect.any(String), details: {} },
      })
      let greeting = ''
      const socket = connect(smtp, '127.0.0.1').on('data', (bytes) => (greeting += bytes))
      await new Promise((resolve) => socket.on('error', () => {}).once('close', resolve))
      expect(greeting).toBe('')
      // A replica that is ready, and goes away with the request.
      using _ = Bun.listen({
        hostname: '127.0.0.1',
        port: nowhere,
        socket: {
          data(socket, bytes) {
            if (bytes.toString().startsWith('GET /readyz')) socket.write('HTTP/1.0 200 OK\r\n\r\n')
            socket.end()
          },
        },
      })
      await until('the replica is ready', async () => (await ask())?.status === 502)
      expect((await (await ask())!.json()).error.code).toBe('SERVICE_UNAVAILABLE')
    } finally {
      program.kill('SIGKILL')
      fs.rmSync(folder, { recursive: true, force: true })
    }
  },
)
