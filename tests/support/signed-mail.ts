/** Email that is signed with DKIM, and the DNS record of its key. */
import { generateKeyPairSync } from 'node:crypto'
import { dkimSign } from 'mailauth/lib/dkim/sign'
import { createTransport } from 'nodemailer'

const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'der' },
})

const SELECTOR = 'desk'

/** The key of every message that is signed here. */
export const KEY_RECORD = `v=DKIM1; k=rsa; p=${publicKey.toString('base64')}`

/** The name at which a domain publishes that key. */
export function keyName(domain: string): string {
  return `${SELECTOR}._domainkey.${domain}`
}

/** Signs a message in the name of a domain. */
export async function signed(raw: Uint8Array, domain: string, keySelector = SELECTOR): Promise<Buffer> {
  const dkim = { domainName: domain, keySelector, privateKey }
  const { message } = await createTransport({ streamTransport: true, buffer: true, newline: 'windows' }).sendMail({
    envelope: { from: `a@${domain}`, to: 'b@desk.example' },
    raw: Buffer.from(raw),
    dkim,
  })
  return Buffer.from(message as Buffer)
}

/** Signs the header and as much of the body as there is now: more may follow without breaking the signature (`l=`). */
export async function signedInPart(raw: Uint8Array, domain: string): Promise<Buffer> {
  const body = Buffer.from(raw).toString('latin1').split('\r\n\r\n')[1]!
  const key = { signingDomain: domain, selector: SELECTOR, privateKey, maxBodyLength: body.length }
  const { signatures } = await dkimSign(Buffer.from(raw), { ...key, signatureData: [key] })
  return Buffer.concat([Buffer.from(signatures), raw])
}
