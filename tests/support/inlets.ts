/** The requests of providers, by the examples of their documentation. */
import { createHmac, createSign, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import type { Client } from './api'

export type Post = { body: Uint8Array | string; headers: Record<string, string> }

/** Opens an inlet. @returns the path of its URL below `/api/v1` */
export async function openInlet(client: Client, mailbox_id: string, fields: Record<string, unknown>): Promise<string> {
  const answer = await client.post(`/mailboxes/${mailbox_id}/inlet`, fields)
  if (answer.status !== 201) throw new Error(`opening an inlet answered ${answer.status} ${answer.text}`)
  return new URL(answer.body.data.url).pathname.replace('/api/v1', '')
}

export const basic = (user_password: string) => ({
  authorization: `Basic ${Buffer.from(user_password).toString('base64')}`,
})

export function rawPost(raw: Uint8Array): Post {
  return { body: raw, headers: { 'content-type': 'message/rfc822' } }
}

/** https://postmarkapp.com/developer/webhooks/inbound-webhook, with "Include raw email content". */
export function postmarkPost(raw: Uint8Array, to: string): Post {
  const address = { Email: to, Name: '', MailboxHash: '' }
  const body = {
    FromName: 'Postmarkapp Support',
    MessageStream: 'inbound',
    From: 'support@postmarkapp.com',
    FromFull: { Email: 'support@postmarkapp.com', Name: 'Postmarkapp Support', MailboxHash: '' },
    To: to,
    ToFull: [address],
    Cc: '',
    CcFull: [],
    Bcc: '',
    BccFull: [],
    OriginalRecipient: to,
    Subject: 'Test subject',
    MessageID: '73e6d360-66eb-11e1-8e72-a8904824019b',
    ReplyTo: '',
    MailboxHash: '',
    Date: 'Fri, 1 Aug 2014 16:45:32 -04:00',
    TextBody: 'This is a test text body.',
    HtmlBody: '<html><body><p>This is a test html body.</p></body></html>',
    StrippedTextReply: '',
    RawEmail: Buffer.from(raw).toString(),
    Tag: 'TestTag',
    Headers: [{ Name: 'X-Header-Test', Value: '' }],
    Attachments: [{ Name: 'test.txt', Content: 'VGhpcyBpcyBh', ContentType: 'text/plain', ContentLength: 45 }],
  }
  return { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
}

/** A multipart form as it is on the wire; a list of pairs may repeat a name. */
export function multipart(fields: [name: string, value: string | Uint8Array][]): Post {
  const boundary = `----cloudmailinboundry${randomBytes(8).toString('hex')}`
  const parts = fields.flatMap(([name, value]) => [
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`),
    Buffer.from(value as Uint8Array),
    Buffer.from('\r\n'),
  ])
  const body = Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)])
  return { body, headers: { 'content-type': `multipart/form-data; boundary=${boundary}` } }
}

/** https://docs.cloudmailin.com/http_post_formats/raw/ */
export function cloudmailinPost(raw: Uint8Array, { to, from, ip }: { to: string; from: string; ip: string }): Post {
  return multipart([
    ['envelope[to]', to],
    ['envelope[recipients][0]', to],
    ['envelope[recipients][1]', 'another@example.com'],
    ['envelope[from]', from],
    ['envelope[helo_domain]', 'localhost'],
    ['envelope[remote_ip]', ip],
    ['envelope[spf][result]', 'pass'],
    ['envelope[spf][domain]', 'example.com'],
    ['message', raw],
  ])
}

type Mailgun = { to: string; from: string; key: string; timestamp?: number; signature?: string; token?: string }

/** https://documentation.mailgun.com/docs/mailgun/user-manual/receive-forward-store/receive-http */
export function mailgunFields(raw: Uint8Array, { to, from, key, ...rest }: Mailgun): [string, string | Uint8Array][] {
  const { timestamp = Math.floor(Date.now() / 1000), token = randomBytes(25).toString('hex') } = rest
  const signature = createHmac('sha256', key).update(`${timestamp}${token}`).digest('hex')
  return [
    ['recipient', to],
    ['sender', from],
    ['subject', 'Re: Sample POST request'],
    ['from', 'Bob <bob@example.com>'],
    ['timestamp', String(timestamp)],
    ['token', token],
    ['signature', rest.signature ?? signature],
    ['body-mime', raw],
  ]
}

export const mailgunPost = (raw: Uint8Array, options: Mailgun) => multipart(mailgunFields(raw, options))

/** The same, URL-encoded byte by byte. */
export function mailgunForm(raw: Uint8Array, options: Mailgun): Post {
  const encoded = (value: string | Uint8Array) =>
    [...Buffer.from(value as Uint8Array)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
  const body = mailgunFields(raw, options).map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
  return { body: body.join('&'), headers: { 'content-type': 'application/x-www-form-urlencoded' } }
}

/** The keys of a security policy of SendGrid; the public one as its API shows it. */
export function sendgridKeys() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  return { private_key: privateKey, public_key: publicKey.export({ format: 'der', type: 'spki' }).toString('base64') }
}

type Sendgrid = { to: string; from: string; ip: string; private_key: KeyObject; timestamp?: number }

/** https://www.twilio.com/docs/sendgrid/for-developers/parsing-email/setting-up-the-inbound-parse-webhook */
export function sendgridPost(raw: Uint8Array, { to, from, ip, private_key, ...rest }: Sendgrid): Post {
  const { body, headers } = multipart([
    ['headers', 'Received: by mx0.example.com'],
    ['dkim', '{@example.com : pass}'],
    ['to', 'anybody@elsewhere.example'],
    ['email', raw],
    ['from', 'Example User <test@example.com>'],
    ['sender_ip', ip],
    ['spam_report', ''],
    ['envelope', JSON.stringify({ to: [to], from })],
    ['subject', 'Example Subject'],
    ['spam_score', '0.011'],
    ['charsets', '{"to":"UTF-8","subject":"UTF-8","from":"UTF-8"}'],
    ['SPF', 'pass'],
  ])
  const timestamp = String(rest.timestamp ?? Math.floor(Date.now() / 1000))
  const signature = createSign('sha256')
    .update(timestamp)
    .update(body as Uint8Array)
    .sign(private_key, 'base64')
  return {
    body,
    headers: {
      ...headers,
      'x-twilio-email-event-webhook-signature': signature,
      'x-twilio-email-event-webhook-timestamp': timestamp,
    },
  }
}
