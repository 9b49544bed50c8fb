/**
 * Signs in to a mailbox's server with an access token: by OAUTHBEARER (RFC 7628) where it is offered, else by XOAUTH2.
 * The library knows XOAUTH2 alone, and asks for tokens by itself, at any address. So this is its `customAuth`, which is
 * not told what the server offers: EHLO is sent once more.
 */
import type { TokenSource } from './settings'

type Reply = { status: number; response: string }
/** A connection of the library, as it shows it to what signs in. */
export type Session = { auth: { user?: string }; sendCommand: (command: string) => Promise<Reply> }
type Place = { host: string; port: number; hostname?: string }

/** The words of the server when a token is wrong or over. */
const REFUSED = [334, 535]
const SENT_MOST = 4

/** Makes the handler of one mailbox. It throws TokenError; a refusal throws with the server's reply as the last one. */
export function tokenSignIn(tokens: TokenSource, { host, port, hostname = '[127.0.0.1]' }: Place) {
  return async ({ auth: { user = '' }, sendCommand }: Session): Promise<void> => {
    const { response } = await sendCommand(`EHLO ${hostname}`)
    const is_bearer = /^250[ -]AUTH[ =](?:.*[ =])?OAUTHBEARER(?:\s|$)/im.test(response)
    const signIn = async (token: string) => {
      const credentials = Buffer.from(is_bearer ? bearer(user, token, host, port) : xoauth2(user, token)).toString(
        'base64',
      )
      tokens.sent = [credentials, token, ...tokens.sent].slice(0, SENT_MOST)
      const reply = await sendCommand(`AUTH ${is_bearer ? 'OAUTHBEARER' : 'XOAUTH2'} ${credentials}`)
      // The server explains itself, and waits for an answer before it refuses.
      return reply.status === 334 ? sendCommand(is_bearer ? 'AQ==' : '') : reply
    }
    const token = await tokens.get()
    let reply = await signIn(token)
    if (REFUSED.includes(reply.status)) reply = await signIn(await tokens.get(token))
    if (reply.status !== 235) throw new Error('Invalid login')
  }
}

function xoauth2(user: string, token: string): string {
  return `user=${user}\x01auth=Bearer ${token}\x01\x01`
}

function bearer(user: string, token: string, host: string, port: number): string {
  const name = user.replaceAll('=', '=3D').replaceAll(',', '=2C')
  return `n,a=${name},\x01host=${host}\x01port=${port}\x01auth=Bearer ${token}\x01\x01`
}
