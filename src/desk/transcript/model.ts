import { query, queryFlag } from '../../base/shapes/query'

export const TranscriptQuery = query({ include_internal: queryFlag({ description: 'With notes. Default false' }) })
export type TranscriptQuery = typeof TranscriptQuery.static
