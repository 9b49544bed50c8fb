/** libmime ships without types; these are the parts that are used here. */
declare module 'libmime' {
  const libmime: {
    parseHeaderValue(value: string): { value: string | false; params: Record<string, string> }
    detectExtension(content_type: string): string
    detectMimeType(filename: string): string
  }
  export default libmime
}

declare module 'libmime/lib/charset' {
  const charset: { decode(bytes: Buffer, charset?: string): string }
  export default charset
}
