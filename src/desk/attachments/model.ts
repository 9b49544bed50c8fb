import { Type } from '@sinclair/typebox'
import { Uuid } from '../../base/shapes/answers'

export const Attachment = Type.Object({
  id: Uuid,
  filename: Type.String({ description: 'Without path and control characters' }),
  content_type: Type.String({ description: 'Media type, as given when it was uploaded or sent' }),
  size: Type.Integer({ description: 'Bytes' }),
  url: Type.String({ format: 'uri', description: 'Where the bytes are; works for an hour without a token' }),
})
export type Attachment = typeof Attachment.static
