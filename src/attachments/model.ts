import { Type } from '@sinclair/typebox'
import { Uuid } from '../model'

export const Attachment = Type.Object({
  id: Uuid,
  filename: Type.String(),
  content_type: Type.String({ description: 'Media type' }),
  size: Type.Integer({ description: 'Bytes' }),
  url: Type.String({ format: 'uri', description: 'Where the bytes are; works for an hour without a token' }),
})
export type Attachment = typeof Attachment.static
