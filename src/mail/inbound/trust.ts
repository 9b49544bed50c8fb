/** Says what mail may do, by how well its sender is known. Pure. */
import type { SENDER_POLICIES } from '../../base/db/schema'
import type { Standing } from '../../desk/participants/commands'

/** The anchor that led a message to its ticket: one that the service issued, or another, which strangers may know. */
export type AnchorKind = 'issued' | 'foreign'

export type Trust = {
  /** Ids of others lead to their ticket. */
  threads_by_foreign_ids: boolean
  /** The code in the subject leads to its ticket. */
  threads_by_code: boolean
  /** Standing of the recipients of a mail that opens a ticket. */
  opens_with: Standing
  /** Standing of the recipients of a later mail of the contact. */
  adds: Record<AnchorKind, Standing>
  reopens: boolean
}

const PROVEN: Trust = {
  threads_by_foreign_ids: true,
  threads_by_code: true,
  opens_with: 'confirmed',
  adds: { issued: 'confirmed', foreign: 'confirmed' },
  reopens: true,
}

const UNKNOWN: Trust = { ...PROVEN, adds: { issued: 'confirmed', foreign: 'listed' } }

const RESTRICTED: Trust = { ...UNKNOWN, threads_by_code: false, opens_with: 'listed' }

const FORGED: Trust = {
  threads_by_foreign_ids: false,
  threads_by_code: false,
  opens_with: 'listed',
  adds: { issued: 'listed', foreign: 'listed' },
  reopens: false,
}

/**
 * Where the sender was read: in From, in the Reply-To of a form, a list or a stranger, in another field of mail that
 * has a mailbox of ours in From, or in another field or the envelope of any other mail, which nothing checks.
 */
export type SenderSource = 'from' | 'reply_to' | 'list' | 'elsewhere'

/**
 * The rights of mail whose sender stands in a field that no check covers, so that nobody poses as a customer there. By
 * Reply-To mail threads as that of its From.
 */
const BORROWED: Record<Exclude<SenderSource, 'from'>, Partial<Trust>> = {
  reply_to: { opens_with: 'listed', adds: { issued: 'listed', foreign: 'listed' } },
  list: { threads_by_foreign_ids: true, threads_by_code: false, adds: { issued: 'listed', foreign: 'listed' } },
  elsewhere: {
    threads_by_foreign_ids: false,
    threads_by_code: false,
    opens_with: 'listed',
    adds: { issued: 'listed', foreign: 'listed' },
  },
}

type Policy = (typeof SENDER_POLICIES)[number]

type CheckedSender = {
  sender_verified: boolean | null
  from_verified: boolean | null
  /** The check could not be made: who can make DNS fail must gain nothing. */
  is_undecided: boolean
  sender_source: SenderSource
}

/** @param policy setting of the organization */
export function trustIn(sender: CheckedSender, policy: Policy): Trust {
  const { sender_source, sender_verified, from_verified } = sender
  const verified = sender_source === 'reply_to' ? from_verified : sender_verified
  const trust = trustInFrom({ ...sender, sender_verified: verified }, policy)
  return sender_source === 'from' || trust === FORGED ? trust : { ...trust, ...BORROWED[sender_source] }
}

function trustInFrom({ sender_verified, is_undecided }: CheckedSender, policy: Policy): Trust {
  if (is_undecided) return FORGED
  if (sender_verified !== null) return sender_verified ? PROVEN : FORGED
  return policy === 'restrict' ? RESTRICTED : UNKNOWN
}
