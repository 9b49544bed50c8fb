/** Words that mail programs put above a quote and below a reply, in many languages. Pure. */

/** Lines that announce a quote, such as "On ... wrote:", in many languages. */
export const ATTRIBUTIONS = [
  /^On\b.{4,300}\bwrote\s*:$/,
  /^(?:Am|Den|Le|El|Il|In data|Em|Op|Dnia|W dniu|pe|Dne|Am) .{4,300}\s(?:schrieb|skrev|a écrit|écrit|escribió|ha scritto|escreveu|schreef|pisze|napisał\(?a?\)?|napsal\(?a?\)?|kirjoitti)(?=[\s:]).{0,200}:$/i,
  /^.{2,200}\s(?:wrote|writes|schrieb|skrev|a écrit|escribió|ha scritto|escreveu|schreef|написал\(?а?\)?|пишет)(?=[\s:]).{0,200}:$/i,
  /^在.{4,300}写道[：:]$/,
  /^.{0,100}20\d\d.{0,200}(?:のメッセージ|作成|작성)\s*[:：]$/,
  /^20\d\d[-/.]\d{1,2}[-/.]\d{1,2} .{0,200}<[^<>]{3,100}@[^<>]{3,100}>\s*:$/,
  /^(?:quoting|zitat von|citando|citation de|citat från|citaat van) .{2,200}:$/i,
]

/** Matches an announcement in any language: a year (of the Buddhist era, too), a time and an address before a colon. */
export const ANY_ATTRIBUTION =
  /^(?=.*(?:19|20|25)\d\d)(?=.*\d[:.]\d\d)(?=.*(?:[<(]| by )[^<>()\s]{1,100}@[^<>()\s]{1,100}[>):]).{20,500}[:：]$/

/**
 * Matches words of a person before a moment and an address, as in "The log of 2026-11-12 10:00 for user <...> says:".
 * A mail program begins with either.
 */
export const TOLD = /^\S+ (?:[^\d<([@]* )?(?:\p{Ll}{2,} \p{Ll}{2,} [^<([@]*\d|\p{Ll}{2,} \p{Ll}{2,} \p{Ll}{2,} [<([])/u

/**
 * Matches the beginning of an announcement that goes on in the next line: such a word, a year and a time, an address in
 * brackets, or the bracket behind which Gmail wraps.
 */
export const ATTRIBUTION_START =
  /^(?:On|Am|Le|El|Il|In data|Em|Op|Den|Dnia|W dniu|pe|在|\d)|^(?=.*(?:19|20|25)\d\d).*\d[:.]\d\d|<[^<>\s]{1,100}@[^<>\s]{1,100}>|[<(]$/

/**
 * Matches an announcement whose author is a person without a name, as in "On 16 November your colleague wrote:". Mail
 * programs name the author.
 */
export const PERSON_AS_AUTHOR = new RegExp(
  [
    "\\b(?:you|your|our|my|his|her|their|we|he|she|they|i|the|a|an|someone)(?: [\\p{L}'’-]+){0,4},? (?:wrote|writes)\\b",
    '\\b(?:schrieb|skrev|schreef|kirjoitti) (?:mir|uns|ihnen|dir|mij|mig|meg|ich|er|sie|wir|du|ihre?|deine?|meine?|unsere?)\\b',
    '\\b(?:schrieb|skrev|schreef|kirjoitti) (?:seine?|das|die|der|eine?|jemand|je|jij|u|uw|de|het|een|min|din|vår|en|du)\\b',
    "\\b(?:votre|notre|mon|ma|ton|le|la|une?|vous|il|elle|su|mi|tu|el|vostr[oa]|tua?|sua?)(?: [\\p{L}'’-]+){0,3} (?:a écrit|avez écrit|escribió|ha scritto)",
  ].join('|'),
  'iu',
)

/** Matches an announcement of nothing but a name, which some programs put directly above the marks. */
export const NAME_AS_AUTHOR =
  /^["“]?\p{Lu}[\p{L}\p{M}.'’" -]{0,60} (?:wrote|writes|schrieb|skrev|a écrit|escribió|ha scritto|escreveu|schreef|kirjoitti) ?:$/u

/** Matches the title of what a helpdesk repeats. */
export const LIST_OF_REPLIES =
  /^\s*\*{0,2}(?:previous replies|vorherige antworten|réponses précédentes|respuestas anteriores|risposte precedenti)\*{0,2}\s*$/i

/** Lines that begin the history: everything below them is quoted. */
export const HISTORY = [
  /^[\s>]*-{2,}\s*(?:original message|forwarded message|urspr(?:ü|ue)ngliche nachricht|weitergeleitete nachricht|message d['’]origine|message transféré|message original|mensaje original|mensaje reenviado|messaggio originale|messaggio inoltrato|mensagem original|oorspronkelijk bericht|original(?:meddelande|meddelelse)|oprindelig meddelelse|opprinnelig melding|alkuperäinen viesti|исходное сообщение|пересылаемое сообщение|原始邮件|원본 메시지)\s*-{2,}\s*$/i,
  /^\s*-{3,} ?On .{4,200} wrote ?-{3,}\s*$/,
  // Yahoo on Android puts the quotation into the same line.
  /^\s*\p{L}.{4,80}\b20\d\d.{0,60}\d:\d\d.{0,100}<[^<>\s]{1,100}@[^<>\s]{1,100}>.{0,20}[:：]\s{2,}\S/u,
  /^.{2,80} ---\d{1,2}[./]\d{1,2}[./]\d{4} .{4,40}---/,
  /^\s*(?:begin forwarded message|anfang der weitergeleiteten (?:nachricht|e-mail)|début du message (?:réexpédié|transféré)|inicio del mensaje reenviado|inizio messaggio inoltrato)\s*:\s*$/i,
  LIST_OF_REPLIES,
]

/** Words above and below which a helpdesk wants its answers: "above this line" in the languages of Zendesk and Jira. */
const ABOVE_LINE = [
  'above this line|(?:oberhalb|über) dieser (?:zeile|linie)|au[- ]dessus de cette ligne|encima de esta línea',
  'sopra (?:a )?questa (?:riga|linea)|acima d(?:esta|a) linha|boven deze (?:regel|lijn)|ovanför (?:den här|denna) raden',
  'over denne (?:linjen?|linie)|tämän rivin yläpuolelle|(?:powyżej tej|nad tą) lini[ią]|nad tento řádek',
  'bu satırın üst[üu]ne|выше этой (?:строки|линии|черты)|この(?:行|線)(?:より|の)上|在此(?:行|线)(?:之)?上|이 줄 위',
]

/** Matches the words of which a line that asks for an answer above it has one. */
export const ANSWER_WORDS =
  /repl|respon|answer|comment|antw|reage|répon|rispo|respuest|respost|svar|vasta|odpow|odpov|yanıt|ответ|返信|回复|回覆|답/iu

/**
 * Matches the line that a helpdesk puts at the beginning of its mail, such as `##- Please type your reply above this
 * line -##`, when it also has one of `ANSWER_WORDS`. People write of such a line, too, but not a line of these words
 * alone.
 */
export const REPLY_ABOVE = new RegExp(
  `^[^\\p{L}\\p{N}?]*(?:\\p{L}+,? ){0,7}(?:${ABOVE_LINE.join('|')})(?: \\p{L}+){0,8}[^\\p{L}\\p{N}?]*$`,
  'iu',
)

/** Matches the line with which the gateway of a company warns of mail from outside, above everything else. */
export const GATEWAY_WARNING =
  /^\W*(?:caution|warning|external|achtung|extern|attention|vorsicht)\b.{0,60}\b(?:e-?mail|extern|message|nachricht)/i

/** Labels of the sender in the header block that Outlook and others put above a quote. */
const FROM_LABELS = [
  'from|von|absender|de|expéditeur|remitente|remetente|da|mittente|van|afzender|från|fra|lähettäjä|od|odesílatel',
  'odosielateľ|feladó|de la|expeditor|kimden|gönderen|από|αποστολέας|от|від|nuo|saatja|pošiljatelj|šalje|dari|từ',
  'người gửi|จาก|מאת|من|از|发件人|发送人|發件人|寄件者|寄件人|差出人|送信者|보낸 ?사람',
]

/** Labels of the other fields of such a block: date, recipients, subject. */
const FIELD_LABELS = [
  'sent|date|to|cc|bcc|subject|gesendet|datum|an|kopie|betreff|envoyé(?: le)?|à|objet|enviad[oa](?: el| em)?|fecha',
  'para|asunto|assunto|inviato(?: il)?|data|a|oggetto|verzonden|aan|onderwerp|skickat|till|kopia|ämne|sendt|dato|til',
  'kopi|emne|lähetetty|päivämäärä|vastaanottajat?|kopio|aihe|wysłano|do|dw|temat|odesláno|komu|předmět|odoslané',
  'dátum|kópia|predmet|elküldve|küldve|címzett|másolatot kap|tárgy|trimis|dată|către|subiect|gönderildi|gönderilen',
  'gönderme tarihi|tarih|kime|alıcı|bilgi|konu|στάλθηκε|αποστολή|ημερομηνία|προς|κοιν(?:οποίηση)?\\.?|θέμα',
  'отправлено|дата(?: отправки)?|кому|копия|тема|надіслано|копія|изпратено|до|относно|išsiųsta|kam|saadetud',
  'adressaat|teema|poslano|za|zadeva|dikirim|kepada|subjek|đã gửi|ngày|đến|tới|chủ đề|ส่ง|วันที่|ถึง|เรื่อง|נשלח',
  'תאריך|אל|עותק|נושא|(?:تم |تاريخ )?الإرسال|أ?رسلت|التاريخ|إلى|نسخة|الموضوع|ارسال شده|تاریخ|به|موضوع|发送时间',
  '发送日期|收件人|抄送|主题|日期|寄件日期|傳送時間|收件者|副本|主旨|送信日時|日付|宛先|件名|보낸 ?날짜|날짜|받는 ?사람|참조|제목',
]

/** Matches the line of the sender in a header block. */
export const FROM_FIELD = new RegExp(`^\\s*\\*?(?:${FROM_LABELS.join('|')})\\s*[:：]\\*?\\s*\\S`, 'i')

/** Matches the line of another field in a header block. */
export const OTHER_FIELD = new RegExp(`^\\s*\\*?(?:${FIELD_LABELS.join('|')})\\s*[:：]`, 'i')

/** Matches a label of the date that only mail programs use. */
export const SENT_FIELD =
  /^\s*\*?(?:sent|gesendet|envoyé(?: le)?|enviad[oa](?: el| em)?|inviato|verzonden|skickat|sendt|lähetetty|wysłano|odesláno|odoslané|elküldve|trimis|gönderildi|στάλθηκε|отправлено|надіслано|изпратено|poslano)\s*[:：]/i

/** Matches the line of the subject in a header block. */
export const SUBJECT_FIELD =
  /^\s*\*?(?:subject|betreff|objet|asunto|assunto|oggetto|onderwerp|ämne|emne|aihe|temat|předmět|predmet|tárgy|subiect|konu|θέμα|тема|относно|tema|teema|zadeva|subjek|chủ đề|เรื่อง|נושא|الموضوع|موضوع|主题|主旨|件名|제목)\s*[:：]\*?\s*(?<subject>.*)$/i

/**
 * Matches the subject of a message that somebody passes on, and what stands behind its prefix. A prefix of answers in
 * front of it, as in `Re: Fwd: x`, makes it an answer.
 */
export const FORWARD_SUBJECT =
  /^\s*(?:\[[^\]]{1,40}\]\s*)?(?:fwd?|fw|wg|tr|rv|i|enc|doorst|vb|vl|vá|tov|továbbítás|pd|ilt|trs|fs|przek|προώθ|πρθ|пересл|fwd|הועבר|إعادة توجيه|转发|轉寄|転送|전달)\s*(?:\[\d+\]|\(\d+\))?\s*[:：]\s*(?<rest>.*)$/i

/** Matches what lists, virus scanners and lawyers put below a mail. */
export const FOOTER = new RegExp(
  [
    '@googlegroups\\.com|groups\\.google\\.com/|/listinfo/|\\bunsubscribe\\b|list-manage\\.com',
    '^[\\s_-]*(?:virus-free|virenfrei|sans virus|libre de virus)\\b|\\bavast(?:\\.com)?\\b|checked for viruses|auf viren geprüft',
    '\\b(?:confidential|vertraulich|confidentiel|confidencial|confidenziali|riservat|vertrouwelijk|konfidenti|fortrolig|poufn|důvěrn|luottamuksellis|gizli)',
    'конфиденциальн|intended (?:only|solely) for|consider the environment|denken sie an die umwelt',
  ].join('|'),
  'im',
)

/** Beginnings of the line that a phone or an app puts below a mail, before its own name. */
const SENT_BY = [
  'sent from (?:(?:my|the)(?! (?:office|home|house|desk|work|old|new|other|private|account|address|e-?mail|wife|husband|colleague))|mail for|outlook|yahoo|gmail|samsung)\\b|get \\w{2,20} for (?:android|ios|iphone|mac)(?= *(?:[<([]|$))|sent (?:via|with|using) (?=\\S)',
  'gesendet (?:von|mit)|envoyé (?:de|depuis|à partir de)|enviado (?:desde|do|de|a partir do)|enviat des d',
  "inviat[oa] (?:da|dal|dallo|dalla|con)\\b|inviat[oa] dall['’]|(?:verzonden|verstuurd) vanaf|skickat från|sendt fra",
  'lähetetty|отправлено (?:с|из)|надіслано з|изпратено от|wysłan[eo] z|odesláno z|odoslané z|poslano (?:s|z|iz)',
  'trimis de (?:pe|la)|(?:elküldve|küldve) az?|στάλθηκε από|εστάλη από|išsiųsta iš|nosūtīts no|saadetud minu',
  'đã gửi từ|dikirim dari|ส่งจาก|(?:تم الإرسال|أ?ُ?رسلت|مرسل(?:ة)?) من|ارسال شده از|נשלח מה?-?|(?:发|發)自我的',
]

/** Ends of such a line, behind its own name. Turkish names the device, because "gönderildi" alone is any "sent". */
const SENT_BY_BEHIND = [
  'から送信|에서 보냄|傳送|(?:-ról|-ről|ról|ről) küldve',
  '(?:iphone|ipad|android|samsung|huawei|xiaomi|yahoo|outlook|gmail|telefon|cihaz|posta)\\S{0,20} gönder(?:ildi|ilmiştir)\\.?',
]

/** Signatures that phones and apps add: by their beginning, by their end, and Outlook's in any language. */
export const DEVICE_SIGNATURES = [
  // A parcel is sent with a number, too.
  new RegExp(`^(?!.*\\d{6})\\s*(?:${SENT_BY.join('|')}).{0,60}$`, 'i'),
  new RegExp(`^.{0,60}(?:${SENT_BY_BEHIND.join('|')})\\s*$`, 'i'),
  /^\s*(?:diese nachricht wurde )?von meinem .{1,60} gesendet\.?\s*$/i,
  /^.{0,60}\bOutlook\b.{0,60}<https:\/\/aka\.ms\/\w{1,20}>.{0,30}$/,
]
