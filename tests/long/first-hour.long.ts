/**
 * The commands of the guide's first hour, in their order and as they stand there, on a bare machine: a copy of this one
 * that is thrown away, in a network of its own with DNS, an ACME authority and the mail server of everybody else.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { until } from '../support/service'

const ROOT = path.join(import.meta.dir, '../..')
/** Debian's packages caddy, prometheus and prometheus-alertmanager, unpacked: they bring servers that start. */
const PACKAGES = '/opt/first-hour'
const ADDRESS = '198.51.100.2'
const NAMES = 'NAME=desk.acme.test DOMAIN=acme.test ADMIN=ada@elsewhere.test'

const reason = whyNot()
if (reason) console.warn(`The first hour of the guide is not tried: ${reason}`)

let shared: string
let world: ChildProcess
let zone: Record<string, Record<string, unknown[]>>

beforeAll(() => {
  shared = fs.mkdtempSync(path.join(os.tmpdir(), 'first-hour-'))
  fs.chmodSync(shared, 0o755)
})
afterAll(async () => {
  if (world?.exitCode === null) {
    world.kill('SIGKILL')
    await once(world, 'exit')
  }
  fs.rmSync(shared, { recursive: true, force: true })
})

test.skipIf(reason !== undefined)(
  'a bare machine answers an email, is backed up and raises an alert',
  async () => {
    publish({
      'desk.acme.test': { A: [ADDRESS] },
      'acme.test': { MX: [{ preference: 10, exchange: 'desk.acme.test' }] },
      '2.100.51.198.in-addr.arpa': { PTR: ['desk.acme.test'] },
      'acme-v02.api.letsencrypt.org': { A: ['198.51.100.1'] },
      'customer.example': { MX: [{ preference: 10, exchange: 'mail.customer.example' }], TXT: ['v=spf1 mx -all'] },
      'elsewhere.test': { MX: [{ preference: 10, exchange: 'mail.customer.example' }] },
      'mail.customer.example': { A: ['198.51.100.1'] },
      '_dmarc.customer.example': { TXT: ['v=DMARC1; p=reject'] },
    })
    fs.writeFileSync(path.join(shared, 'script.sh'), script())
    fs.symlinkSync(PACKAGES, path.join(shared, 'packages'))
    const program = path.join(ROOT, 'tests/support/bare-machine/world.sh')
    const options = ['--net', '--mount', '--pid', '--fork', '--kill-child', 'bash', program, shared, process.execPath]
    world = spawn('unshare', options, { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [world.stdout!, world.stderr!]) stream.on('data', (chunk) => (output += chunk))
    const has = (name: string) => fs.existsSync(path.join(shared, name)) || world.exitCode !== null
    await until('the mailbox is there', () => has('mailbox.json'))
    if (world.exitCode === null) publishMailbox()
    await until('the machine has done all', () => has('ended'), 600_000)
    const status = fs.existsSync(path.join(shared, 'status')) ? read('status') : 'none'
    if (status !== '0\n') throw new Error(`The machine ended with ${status}: ${output}`)

    const mails = fs.readdirSync(path.join(shared, 'mail')).map((file) => read(`mail/${file}`))
    const answer = mails.find((mail) => mail.includes('Your mail has arrived'))!
    expect(answer).toMatch(/^X-Rcpt-Args: <carla@customer\.example>/m)
    expect(answer).toMatch(/^DKIM-Signature: .*d=acme\.test/m)
    const alerts = mails.filter((mail) => /^X-Rcpt-Args: <ada@elsewhere\.test>/m.test(mail))
    expect(alerts.map((mail) => /^Subject: \[(\w+)/m.exec(mail)?.[1])).toContain('FIRING')
  },
  900_000,
)

/** The blocks of the page, with what a person does between them. */
function script(): string {
  const page = fs.readFileSync(path.join(ROOT, 'src/guide/first-hour.md'), 'utf8')
  const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, code]) => code!)
  const certificates = '/var/lib/caddy/.local/share/caddy/certificates'
  const done = blocks.map((block) => {
    const code = block.replace(/^NAME=.*$/m, NAMES).replace('sleep 240', waitFor('FIRING.*DeskwireDown'))
    if (code.includes('POST /mailboxes')) {
      return `${code}call GET /mailboxes >/tmp/shared/mailbox.part; mv /tmp/shared/mailbox.part /tmp/shared/mailbox.json
until [ -e /tmp/shared/published ]; do sleep 0.1; done\n`
    }
    if (code.includes('call GET /tickets')) return `echo support@$DOMAIN >/tmp/shared/write\n${code}`
    // Nobody waits for two minutes here.
    if (code.includes('alerts.yml')) return `sed -i 's/for: 2m/for: 5s/' alerts.yml\n${code}`
    return code
  })
  // STARTTLS has the certificate that Caddy got, and a renewed one without a restart of the service.
  return `set -euxo pipefail
${done.join('')}
until curl --silent --fail https://$NAME/readyz; do sleep 1; done
shown() { openssl s_client -starttls smtp -connect $NAME:25 -verify_return_error -verify_hostname $NAME </dev/null |
  openssl x509 -noout -serial; }
first=$(shown)
rm -r ${certificates}
systemctl restart caddy
until [ "$(shown)" != "$first" ]; do sleep 1; done
${waitFor('Your mail has arrived')}
`
}

function waitFor(words: string): string {
  return `timeout 120 bash -c "until grep -rqE '${words}' /tmp/shared/mail; do sleep 1; done"`
}

function publish(records: typeof zone): void {
  zone = { ...zone, ...records }
  // A reader never sees a half.
  fs.writeFileSync(path.join(shared, 'zone.part'), JSON.stringify(zone))
  fs.renameSync(path.join(shared, 'zone.part'), path.join(shared, 'zone.json'))
}

/** The records that the operator publishes after the mailbox is made. */
function publishMailbox(): void {
  const [mailbox] = JSON.parse(read('mailbox.json')).data
  const { name, value } = mailbox.dkim.dns_record
  publish({
    'acme.test': { ...zone['acme.test'], TXT: ['v=spf1 mx -all'] },
    [name]: { TXT: [value.match(/.{1,255}/g)] },
    '_dmarc.acme.test': { TXT: ['v=DMARC1; p=quarantine'] },
  })
  fs.writeFileSync(path.join(shared, 'published'), '')
}

function read(name: string): string {
  return fs.readFileSync(path.join(shared, name), 'utf8')
}

function whyNot(): string | undefined {
  if (process.getuid?.() !== 0) return 'it needs root'
  const missing = ['unshare', 'ip', 'smtp-sink', 'swaks', 'openssl', 'node', 'curl'].find((name) => !Bun.which(name))
  if (missing) return `${missing} is missing`
  if (!fs.existsSync(`${PACKAGES}/usr/bin/caddy`)) return `${PACKAGES} has no caddy: .ci/run unpacks it`
  const { status } = spawnSync('unshare', ['--net', '--mount', '--pid', '--fork', 'true'])
  return status === 0 ? undefined : 'namespaces cannot be made here'
}
