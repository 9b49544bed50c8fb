/** Finds the message that a delivery report returns. Pure. */
import { looksLikeAddress } from '../../base/mime/addresses'
import { messageIds, rawHeader, splitHeader } from '../../base/mime/headers'
import { findParts, type Part } from '../../base/mime/parts'
import { ORIGINAL_MARKER } from './bounce-words'

/** The returned message of a report: a part with the message or its header, or text that quotes it. */
export type Returned = {
  message_ids: string[]
  return_addresses: string[]
  is_there: boolean
  /** The text before it, which says what happened. */
  notice: string
}

/** A report returns one message, in one or two forms. */
const MAX_RETURNED = 10
/** Two fields in each form. */
const MAX_RETURN_FIELDS = MAX_RETURNED * 2
/** Bytes of a returned message in which its header is read. */
const MAX_HEADER_BYTES = 65_536

/**
 * Reads the message that a report returns: a part of the report, or quoted in its text.
 * @param text the plain text of the report
 */
export function readReturned(root: Part, text: string): Returned {
  const returned = ['message/rfc822', 'text/rfc822-headers', 'message/global', 'message/global-headers']
    .flatMap((type) => findParts(root, type))
    .slice(0, MAX_RETURNED)
    .map(
      (part) =>
        part.content
          .subarray(0, MAX_HEADER_BYTES)
          .toString('latin1')
          .trimStart()
          .split(/\r?\n\r?\n/)[0] ?? '',
    )
    .map((header) => splitHeader(Buffer.from(header, 'latin1')))
  const marker = ORIGINAL_MARKER.exec(text)
  const quoted = marker ? text.slice(marker.index) : text
  const ids = [
    ...returned.flatMap((fields) => messageIds(rawHeader(fields, 'message-id') ?? '')),
    ...Array.from(
      quoted.matchAll(/^[ \t>]{0,20}(?:x-original-)?message-id[ \t]{0,5}:\s{0,5}(<[^<>\s]{1,500}>)/gim),
      (match) => match[1]?.slice(1, -1) ?? '',
    ),
  ]
  const return_fields = [
    ...returned.flatMap((fields) => ['reply-to', 'return-path'].map((key) => rawHeader(fields, key) ?? '')),
    ...Array.from(
      quoted.matchAll(/^[ \t>]{0,20}(?:reply-to|return-path)[ \t]{0,5}:\s{0,5}(\S.{0,500})$/gim),
      (match) => match[1] ?? '',
    ),
  ]
  return {
    message_ids: ids,
    return_addresses: [...new Set(return_fields.slice(0, MAX_RETURN_FIELDS).flatMap(addressesIn))],
    is_there: returned.length > 0 || ids.length > 0 || marker !== null,
    notice: marker ? text.slice(0, marker.index) : text,
  }
}

/** Finds email addresses in a text: in lower case, each once. */
export function addressesIn(text: string): string[] {
  const found = text.slice(0, 20_000).match(/[^\s@<>()[\],;:"'\\=]{1,64}@[^\s@<>()[\],;:"'\\]{1,190}/g) ?? []
  return [...new Set(found.map((address) => address.replace(/\.+$/, '').toLowerCase()))].filter(looksLikeAddress)
}
