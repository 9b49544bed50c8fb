/** mailauth ships its other parts with types; this is the part without, as far as it is used here. */
declare module 'mailauth/lib/parse-received' {
  type Received = { from?: { value: string; comment?: string } }
  const received: {
    parseReceived(line: string): Received | false
    getClientAddress(from: Received['from']): string | false
  }
  export default received
}
