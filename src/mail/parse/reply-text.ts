/**
 * Finds the new part of a reply: without quoted history and signature. When in doubt it keeps more: answers between quoted
 * lines stay together with the lines that they answer. Pure, and linear in the length of the text.
 *
 * Own code because email-reply-parser 2.3, the only package for this platform (talon is Python), cuts 17 of the 37 texts of
 * mail-parse-reply.test.ts in the wrong place, hides answers between quoted lines, and takes 11 seconds for a line of
 * 100 KB that begins like an announcement.
 */

/** Lines that announce a quote, such as "On ... wrote:", in many languages. */
const ATTRIBUTIONS = [
  /^On\b.{4,300}\bwrote\s*:$/,
  /^(?:Am|Den|Le|El|Il|In data|Em|Op|Dnia|W dniu|pe|Dne|Am) .{4,300}\s(?:schrieb|skrev|a écrit|écrit|escribió|ha scritto|escreveu|schreef|pisze|napisał\(?a?\)?|napsal\(?a?\)?|kirjoitti)(?=[\s:]).{0,200}:$/i,
  /^.{2,200}\s(?:wrote|writes|schrieb|skrev|a écrit|escribió|ha scritto|escreveu|schreef|написал\(?а?\)?|пишет)(?=[\s:]).{0,200}:$/i,
  /^在.{4,300}写道[：:]$/,
  /^.{0,100}20\d\d.{0,200}(?:のメッセージ|作成|작성)\s*[:：]$/,
  /^20\d\d[-/.]\d{1,2}[-/.]\d{1,2} .{0,200}<[^<>]{3,100}@[^<>]{3,100}>\s*:$/,
  // In any language: a year, a time and an address before a colon.
  /^(?=.*(?:19|20)\d\d)(?=.*\d[:.]\d\d)(?=.*(?:[<(]| by )[^<>()\s]{1,100}@[^<>()\s]{1,100}[>):]).{20,500}[:：]$/,
]

/** Matches the beginning of an announcement that goes on in the next line: such a word, or a year and a time. */
const ATTRIBUTION_START = /^(?:On|Am|Le|El|Il|In data|Em|Op|Den|Dnia|W dniu|pe|在|\d)|^(?=.*(?:19|20)\d\d).*\d[:.]\d\d/

/** Lines that begin the history: everything below them is quoted. */
const HISTORY = [
  /^[\s>]*-{2,}\s*(?:original message|forwarded message|urspr(?:ü|ue)ngliche nachricht|weitergeleitete nachricht|message d['’]origine|message transféré|message original|mensaje original|mensaje reenviado|messaggio originale|messaggio inoltrato|mensagem original|oorspronkelijk bericht|original(?:meddelande|meddelelse)|oprindelig meddelelse|opprinnelig melding|alkuperäinen viesti|исходное сообщение|пересылаемое сообщение|原始邮件|원본 메시지)\s*-{2,}\s*$/i,
  /^\s*-{3,} ?On .{4,200} wrote ?-{3,}\s*$/,
  /^.{2,80} ---\d{1,2}[./]\d{1,2}[./]\d{4} .{4,40}---/,
  /^\s*(?:begin forwarded message|anfang der weitergeleiteten (?:nachricht|e-mail)|début du message (?:réexpédié|transféré)|inicio del mensaje reenviado|inizio messaggio inoltrato)\s*:\s*$/i,
  /^\s*\*{0,2}(?:previous replies|vorherige antworten|réponses précédentes|respuestas anteriores|risposte precedenti)\*{0,2}\s*$/i,
  /^[\s#*=-]*(?:please )?(?:type|write|enter|reply|antworten|bitte).{0,40}\b(?:above|oberhalb|über)\b.{0,20}\b(?:line|linie|zeile)\b.{0,20}$/i,
]

const FROM = /^\s*\*?(?:from|von|de|da|van|från|fra|od|lähettäjä|от|发件人|寄件者|差出人|보낸 ?사람)\s*[:：]\*?\s*\S/i
const SENT_TO =
  /^\s*\*?(?:sent|date|to|cc|subject|gesendet|datum|an|betreff|envoyé|à|objet|enviad[oa](?: el| em)?|para|asunto|inviato|data|a|oggetto|verzonden|aan|onderwerp|skickat|till|ämne|sendt|til|emne|wysłano|do|temat|отправлено|дата|кому|тема|发送时间|收件人|主题|日期|寄件日期|送信日時|宛先|件名|보낸 ?날짜|날짜|받는 ?사람|참조|제목)\s*[:：]/i

/** A header block in any language: a sender with an address in brackets, a date with a year and a time, two more fields. */
const LABEL = '\\s*\\*?\\p{L}[\\p{L}\\p{M} ]{0,25}[:：]\\*?'
const LABELLED = new RegExp(`^${LABEL}\\s*\\S`, 'u')
const LABELLED_FROM = new RegExp(`^${LABEL}.{0,100}<[^<>\\s]{1,100}@[^<>\\s]{1,100}>\\s*$`, 'u')
const LABELLED_DATE = new RegExp(`^${LABEL}(?=.*(?:19|20)\\d\\d).*\\d[:.]\\d\\d`, 'u')

/** Characters that only turn the direction of text. Mail programs put them around names in Hebrew and Arabic. */
const DIRECTIONS = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Signatures that phones add: by their beginning, by their end, and Outlook's in any language. */
const DEVICE_SIGNATURES = [
  /^\s*(?:sent from (?:my|the|mail for|outlook|yahoo|gmail|samsung)\b.{0,60}|sent (?:via|with|using) \S.{0,60}|get outlook for \S.{0,60}|gesendet (?:von|mit) .{1,60}|envoyé (?:de|depuis|à partir de) .{1,60}|enviado (?:desde|do|de) .{1,60}|inviato da .{1,60}|verzonden vanaf .{1,60}|verstuurd vanaf .{1,60}|skickat från .{1,60}|sendt fra .{1,60}|lähetetty .{1,60}|отправлено (?:с|из) .{1,60}|надіслано з .{1,60}|wysłan[eo] z .{1,60}|odesláno z .{1,60}|odoslané z .{1,60}|trimis de pe .{1,60}|στάλθηκε από .{1,60}|נשלח מה?-?.{1,60}|(?:发|發)自我的.{1,60})\s*$/i,
  /^\s*(?:(?:diese nachricht wurde )?von meinem .{1,60} gesendet\.?|.{1,60}(?:から送信|에서 보냄|傳送|’(?:tan|ten|dan|den|umdan|imden) gönderildi))\s*$/i,
  /^.{0,60}\bOutlook\b.{0,60}<https:\/\/aka\.ms\/\w{1,20}>\s*$/,
]

/** Finds the reply in a plain text; gives the whole text when nothing would be left. */
export function replyText(text: string): string {
  const lines = text.replace(/\r\n?/g, '\n').split('\n')
  const reply = withoutSignature(withoutTrailingQuote(withoutHistory(lines)))
  return reply.join('\n').trim() || text.trim()
}

function withoutHistory(lines: string[]): string[] {
  const cut = lines.findIndex((line, index) => startsHistory(lines, line, index))
  return cut < 0 ? lines : dropBlankAndRule(lines.slice(0, cut))
}

function startsHistory(lines: string[], line: string, index: number): boolean {
  if (line.length > 300) return false
  if (HISTORY.some((marker) => marker.test(line))) return true
  if (FROM.test(line) || (SENT_TO.test(line) && FROM.test(lines[index + 1]?.slice(0, 300) ?? ''))) {
    const fields = lines.slice(index + 1, index + 7).filter((next) => next.length < 1000 && SENT_TO.test(next))
    if (fields.length >= 2) return true
  }
  if (line.trimEnd().endsWith('>') && isLabelled(lines.slice(index, index + 4))) return true
  const announced = attributionEnd(lines, index)
  if (announced === null) return false
  // A quote with marks is handled line by line; without marks all that follows is quoted.
  let next = announced
  while (next < lines.length && lines[next]?.trim() === '') next += 1
  return next < lines.length && !isQuoted(lines[next] ?? '')
}

function isLabelled(lines: string[]): boolean {
  const [from = '', date = '', ...others] = lines.map((line) => line.slice(0, 300).replace(DIRECTIONS, ''))
  return (
    LABELLED_FROM.test(from) && LABELLED_DATE.test(date) && others.filter((line) => LABELLED.test(line)).length === 2
  )
}

/** Gives the index of the line behind an announcement, which may be wrapped into three lines; null without one. */
function attributionEnd(lines: string[], index: number): number | null {
  const first = lines[index]?.trim() ?? ''
  if (isQuoted(first)) return null
  let joined = ''
  for (let count = 1; count <= 3; count += 1) {
    const line = lines[index + count - 1]?.replace(DIRECTIONS, '').trim() ?? ''
    if (line === '' || line.length > 300) return null
    joined = count === 1 ? line : `${joined} ${line}`
    if (!/[:：]$/.test(line) || !/\d/.test(joined)) continue
    const is_start = count === 1 || ATTRIBUTION_START.test(first)
    if (is_start && ATTRIBUTIONS.some((pattern) => pattern.test(joined))) return index + count
  }
  return null
}

/** Drops quoted lines at the end with their announcement. Quoted lines above an answer are kept: it answers them. */
function withoutTrailingQuote(lines: string[]): string[] {
  let end = lines.length
  while (end > 0 && (isQuoted(lines[end - 1] ?? '') || lines[end - 1]?.trim() === '')) end -= 1
  if (!lines.slice(end).some(isQuoted)) return lines
  for (let start = Math.max(0, end - 3); start < end; start += 1) {
    if (attributionEnd(lines, start) === end) return dropBlankAndRule(lines.slice(0, start))
  }
  return lines.slice(0, end)
}

function withoutSignature(lines: string[]): string[] {
  const delimiter = lines.findLastIndex((line) => /^--\s?$/.test(line))
  const is_short = delimiter >= 0 && lines.length - delimiter <= 25 && !lines.slice(delimiter).some(isQuoted)
  const kept = is_short ? lines.slice(0, delimiter) : lines
  const last = kept.findLastIndex((line) => line.trim() !== '')
  return DEVICE_SIGNATURES.some((pattern) => pattern.test(kept[last] ?? '')) ? kept.slice(0, last) : kept
}

function dropBlankAndRule(lines: string[]): string[] {
  let end = lines.length
  while (end > 0 && /^[\s_=-]*$/.test(lines[end - 1] ?? '')) end -= 1
  return lines.slice(0, end)
}

function isQuoted(line: string): boolean {
  return /^\s{0,3}>/.test(line)
}
