/** Checks who wrote a message, and says what follows for its writer, and for where answers go. */
import { readMessageId, readReplyTag } from '../../desk/messages/anchors'
import { displayName } from '../parse/parse'
import { checkSender, shareOrganization } from '../sender/check'
import { judgeSpam } from '../spam/judge'
import type { Directs, InboundMail } from './message'
import { domainOf } from './own-domains'
import { destinationsOf } from './thread'

/**
 * Checks who wrote the message, and if it is spam. Never rejects, and takes some 5 seconds at most. An import waits for
 * no DNS.
 */
export async function withCheckedSender(mail: InboundMail): Promise<InboundMail> {
  const { raw, headers, recipient, envelope_sender, remote_address, helo, relay_address, is_released } = mail
  const from = headers.from?.address ?? null
  const delivery = remote_address === null ? null : { remote_address, helo: helo ?? '', relay_address }
  const [verdict, spam, is_same_organization] = await Promise.all([
    checkSender({ raw, from, envelope_sender, delivery }),
    is_released ? null : judgeSpam({ raw, recipient, envelope_sender, delivery }),
    isOfSameOrganization(mail),
  ])
  const is_undecided = verdict.is_undecided && delivery !== null
  const checked = { ...mail, ...verdict, spam, is_undecided, from_verified: verdict.sender_verified }
  const written = withWriter(checked, is_same_organization)
  // A proof of From proves nobody else.
  const is_from = written.sender !== undefined && written.sender.email === from
  const sender_verified = verdict.sender_verified === true && !is_from ? null : verdict.sender_verified
  // A forger uses up nothing of a proven sender.
  const repeats = sender_verified ? `proven-${mail.fingerprint.repeats}` : mail.fingerprint.repeats
  return { ...written, sender_verified, fingerprint: { ...mail.fingerprint, repeats } }
}

/** True when Reply-To is an address of the sender's organization. */
async function isOfSameOrganization({ sender, reply }: InboundMail): Promise<boolean> {
  const one = sender && domainOf(sender.email)
  const other = reply && domainOf(reply.address)
  return one && other ? shareOrganization(one, other) : false
}

/**
 * Makes the person in Reply-To the writer of what a form, a list or a stranger sent in the name of somebody at another
 * organization. Else Reply-To only says where answers go, as far as From is proven.
 */
function withWriter(mail: InboundMail, is_same_organization: boolean): InboundMail {
  const { headers, sender, reply, from_verified } = mail
  if (!reply || !sender) return mail
  const is_writer = reply.writes === 'always' || (reply.writes === 'unless forged' && from_verified !== false)
  if (!is_same_organization && is_writer && !isOfTeam(mail)) {
    const name = reply.name || displayName(headers.from?.name ?? '', reply.address)
    const writer = { name, email: reply.address }
    return { ...mail, sender: writer, sender_source: 'reply_to', member: null, passed_on: null }
  }
  return { ...mail, reply_to: reply.address, directs: directsOf(mail, is_same_organization) }
}

/** True for proven mail of a member that answers a ticket or passes mail on: no form writes such. */
function isOfTeam({ member, from_verified, passed_on, headers, recipient }: InboundMail): boolean {
  if (member === null || from_verified !== true) return false
  const ids = [...headers.in_reply_to, ...headers.references]
  const tags = destinationsOf(headers, recipient)
  return (
    passed_on !== null || ids.some((id) => readMessageId(id) !== null) || tags.some((to) => readReplyTag(to) !== null)
  )
}

/** Gives nothing to those who can make DNS fail; a proof of From proves nobody else. */
function directsOf(
  { from_verified, is_undecided, sender_source }: InboundMail,
  is_same_organization: boolean,
): Directs {
  if (from_verified === false || is_undecided) return 'never'
  if (from_verified === true && sender_source === 'from') return 'always'
  return is_same_organization ? 'at first' : 'never'
}
