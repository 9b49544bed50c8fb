/** Writes the name that stands in From of an answer: that of its mailbox, or what this makes of the writer. */
import { expand } from './variables'

/** The names of a mailbox, or of none. */
type Names = { from_name: string | null; mailbox_name: string | null; organization_name: string }

/** @param writer of the answer: a member, or an API key */
export function fromName({ from_name, mailbox_name, organization_name }: Names, writer: string): string {
  const plain = mailbox_name ?? organization_name
  if (from_name === null) return plain
  const values = { 'user.name': writer, 'mailbox.name': plain, 'organization.name': organization_name }
  return expand(from_name, values, 'text').trim() || plain
}
