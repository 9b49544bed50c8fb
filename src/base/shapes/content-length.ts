/**
 * The bytes that a request says its body has; undefined without a length, or with a header that came twice ("5, 9999").
 */
export function contentLengthOf({ headers }: Request): number | undefined {
  const length = headers.get('content-length') ?? ''
  return /^\d+$/.test(length) ? Number(length) : undefined
}
