import { Type } from '@sinclair/typebox'
import { SCANS } from '../../base/db/schema'
import { Uuid } from '../../base/shapes/answers'
import { nullable, oneOf } from '../../base/shapes/fields'

const Scanned = nullable(oneOf(SCANS), {
  description:
    'What the scan for viruses says. `pending`: it waits for the scanner, its content is 503; `infected`: its content is 403; `skipped`: too large for the scanner; null: it came while there was no scanner',
})

export const Attachment = Type.Object({
  id: Uuid,
  filename: Type.String({ description: 'Without path and control characters' }),
  content_type: Type.String({ description: 'Media type, as given when it was uploaded or sent' }),
  size: Type.Integer({ description: 'Bytes' }),
  scan: Scanned,
  url: Type.String({ format: 'uri', description: 'Where the bytes are; works for an hour without a token' }),
})
export type Attachment = typeof Attachment.static
