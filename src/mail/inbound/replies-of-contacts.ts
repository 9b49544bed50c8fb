/** Reads from the replies of contacts which people they still address. */
import { addressKey } from '../../base/address/email'
import { type Scope, together } from '../../base/scope'
import { addressesOf } from '../../desk/contacts/contact-addresses'
import { ownAddresses } from '../../desk/messages/conversation'
import type { ReplyOfContact } from '../../desk/participants/leave-out'
import type { EntryActor } from '../../desk/timeline/activity'
import { othersOf } from './mail-draft'
import type { InboundMail } from './message'

/** A reply of the contact of its ticket. */
type Reply = {
  ticket_id: string
  mail: InboundMail
  contact: { id: string }
  actor: EntryActor
  decision: { answered_id: string | null }
}

/**
 * Gives those whose sender is proven and that answer a message which is here, with the people that they name. An
 * automatic answer says nothing about them.
 */
export async function repliesOfContacts(scope: Scope, replies: Reply[]): Promise<ReplyOfContact[]> {
  const told = replies.flatMap(({ decision: { answered_id }, ...reply }) => {
    const { sender_verified, content } = reply.mail
    if (sender_verified !== true || !content || content.auto_reply || answered_id === null) return []
    return [{ ...reply, answered_id, named: othersOf(reply.mail).map(({ email }) => email) }]
  })
  if (told.length === 0) return []
  const [own, of_contacts] = await together([
    ownAddresses(
      scope,
      told.flatMap(({ named }) => named),
    ),
    addressesOf(
      scope,
      told.map(({ contact }) => contact.id),
    ),
  ])
  return told.map(({ ticket_id, actor, answered_id, contact, named }) => {
    const contacts = new Set(of_contacts.get(contact.id)?.map(({ email_key }) => email_key))
    const others = new Set(named.map(addressKey)).difference(own).difference(contacts)
    return { ticket_id, actor, answered_id, named: others }
  })
}
