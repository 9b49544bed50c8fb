/** Mail that machines wrote, and mail of people that only looks like it. */
import { describe, expect, test } from 'bun:test'
import { parseMail } from '../../../src/mail/parse/parse'
import { FROM, mail, parts } from '../../support/written-mail'

describe('automatic mail', () => {
  test.each([
    [['Auto-Submitted: auto-replied'], true],
    [['Auto-Submitted: auto-generated (warning)'], true],
    [['Auto-Submitted: no'], false],
    [['Precedence: bulk'], true],
    [['Precedence: list'], true],
    [['Feedback-ID: 1:ses:2:AmazonSES'], true],
    [['Precedence: list', 'X-Google-Group-Id: 1'], false],
    [['X-Autoreply: yes'], true],
    [['X-Auto-Response-Suppress: All'], false],
    [['List-Unsubscribe: <mailto:x@y.org>'], false],
    [['List-Unsubscribe: <https://y.org/5>', 'X-Mailer: HubSpot'], false],
    [['List-Unsubscribe: <https://y.org/5>', 'List-Id: <team.y.org>'], false],
    [['List-Unsubscribe: <https://y.org/5>', 'Precedence: bulk'], true],
    [['List-Unsubscribe: <https://y.org/5>', 'Precedence: list'], true],
    [['List-Unsubscribe: <https://y.org/5>', 'Feedback-ID: 5:mc'], true],
    [['List-Unsubscribe: <https://y.org/5>', 'X-Campaignid: 5'], true],
    [['List-Unsubscribe: <https://y.org/5>', 'List-Unsubscribe-Post: List-Unsubscribe=One-Click'], true],
    [['List-Unsubscribe: <https://y.org/5>', 'In-Reply-To: <a@b>'], false],
    [['Feedback-ID: 1:ses:2:AmazonSES', 'In-Reply-To: <a@b>'], false],
    [['List-Unsubscribe: <mailto:x@y.org>', 'References: <a@b>'], false],
    [['Precedence: list', 'In-Reply-To: <a@b>'], false],
    [['Precedence: bulk', 'In-Reply-To: <a@b>'], true],
    [['Precedence: auto_reply', 'In-Reply-To: <a@b>'], true],
    [['Return-Path: <>'], true],
    [['Subject: Automatische Antwort: Rechnung'], true],
    [['Subject: =?utf-8?B?6Ieq5YuV5b+c562UOiDoq4vmsYLmm7g=?='], true],
    [['Subject: [Auto-Reply] Invoice'], true],
    [['Subject: Out of office Re: Invoice'], true],
    [['Subject: Out of Office AutoReply: Pump leaks'], true],
    [['Subject: Out Of Office Auto-Reply: Pump leaks'], true],
    [['Subject: Out of Office Reply'], true],
    [['Subject: OOO: Pump leaks'], true],
    [['Subject: Out of the office notification: Pump leaks'], true],
    [["Subject: =?utf-8?Q?R=C3=A9ponse_automatique_d'absence_du_bureau_:_Pompe?="], true],
    [['Subject: Risposta automatica per fuori sede: Pompa'], true],
    [['Subject: Afwezigheidsbericht: Pomp'], true],
    [['Subject: Out of office autoreply is broken'], false],
    [['Subject: Re: Out of Office AutoReply: Pump leaks'], false],
    [['Subject: Ann Smith is out of the office (returning Monday).'], true],
    [['Subject: Abwesend: Rechnung', 'In-Reply-To: <a@b>'], true],
    [['Subject: Abwesend: mein Sohn'], false],
    [['Subject: Out of office message does not work'], false],
    [['X-Auto-Response-Suppress: All', 'X-MS-Exchange-Inbox-Rules-Loop: ann@example.com'], true],
    [['X-MS-Exchange-Inbox-Rules-Loop: ann@example.com'], false],
    [['X-Cron-Env: <SHELL=/bin/sh>'], true],
    [['Content-Type: text/calendar; method=REPLY'], true],
    [['Content-Type: text/calendar; method=REQUEST'], false],
    [['Subject: Re: Automatic reply: Invoice'], false],
    [['Subject: Automatic reply to tickets does not work'], false],
    [[], false],
  ])('%p is automatic: %p', async (lines, expected) => {
    expect((await parseMail(mail(FROM, ...lines, '', 'x'))).auto_reply).toBe(expected)
  })
})

test.each([
  ['From: Shop <newsletter@shop.example>', true],
  ['From: no-reply@shop.example', true],
  ['From: Ann News <ann@shop.example>', false],
])('mail that can be unsubscribed %p is automatic: %p', async (from, expected) => {
  expect((await parseMail(mail(from, 'List-Unsubscribe: <mailto:x@y.org>', '', 'x'))).auto_reply).toBe(expected)
})

/** How Exchange and Outlook begin the subject of an automatic answer. */
const AUTOMATIC: [language: string, subject: string][] = [
  ['Afrikaans', 'Automatiese antwoord'],
  ['Albanian', 'Përgjigje automatike'],
  ['Arabic', 'رد تلقائي'],
  ['Azerbaijani', 'Avtomatik cavab'],
  ['Basque', 'Erantzun automatikoa'],
  ['Bengali', 'স্বয়ংক্রিয় উত্তর'],
  ['Bulgarian', 'Автоматичен отговор'],
  ['Catalan', 'Resposta automàtica'],
  ['Chinese', '自动答复'],
  ['Chinese of Taiwan', '自動回覆'],
  ['Croatian', 'Automatski odgovor'],
  ['Czech', 'Automatická odpověď'],
  ['Danish', 'Automatisk svar'],
  ['Dutch', 'Automatisch antwoord'],
  ['English', 'Automatic reply'],
  ['Estonian', 'Automaatvastus'],
  ['Estonian of another version', 'Automaatne vastus'],
  ['Filipino', 'Awtomatikong tugon'],
  ['Finnish', 'Automaattinen vastaus'],
  ['French', 'Réponse automatique'],
  ['Galician and Portuguese', 'Resposta automática'],
  ['German', 'Automatische Antwort'],
  ['Greek', 'Αυτόματη απάντηση'],
  ['Hebrew', 'תשובה אוטומטית'],
  ['Hindi', 'स्वचालित उत्तर'],
  ['Hungarian', 'Automatikus válasz'],
  ['Icelandic', 'Sjálfvirkt svar'],
  ['Indonesian', 'Balasan otomatis'],
  ['Irish', 'Freagra uathoibríoch'],
  ['Italian', 'Risposta automatica'],
  ['Japanese', '自動応答'],
  ['Kazakh', 'Автоматты жауап'],
  ['Korean', '자동 회신'],
  ['Latvian', 'Automātiska atbilde'],
  ['Latvian of another version', 'Automātiskā atbilde'],
  ['Lithuanian', 'Automatinis atsakymas'],
  ['Macedonian', 'Автоматски одговор'],
  ['Malay', 'Balasan automatik'],
  ['Norwegian', 'Automatisk svar'],
  ['Persian', 'پاسخ خودکار'],
  ['Polish', 'Odpowiedź automatyczna'],
  ['Polish of another version', 'Automatyczna odpowiedź'],
  ['Romanian', 'Răspuns automat'],
  ['Russian', 'Автоматический ответ'],
  ['Serbian', 'Аутоматски одговор'],
  ['Slovak', 'Automatická odpoveď'],
  ['Slovenian', 'Samodejni odgovor'],
  ['Spanish', 'Respuesta automática'],
  ['Swahili', 'Majibu ya kiotomatiki'],
  ['Swedish', 'Automatiskt svar'],
  ['Tamil', 'தானியங்கு பதில்'],
  ['Telugu', 'స్వయంచాలక ప్రత్యుత్తరం'],
  ['Thai', 'ตอบกลับอัตโนมัติ'],
  ['Turkish', 'Otomatik yanıt'],
  ['Ukrainian', 'Автоматична відповідь'],
  ['Urdu', 'خودکار جواب'],
  ['Vietnamese', 'Trả lời tự động'],
  ['Welsh', 'Ateb awtomatig'],
]

describe('an automatic answer without any header', () => {
  const subject = (text: string) => `Subject: =?utf-8?B?${Buffer.from(text).toString('base64')}?=`

  test.each(AUTOMATIC)('is known by its subject in %s', async (_, words) => {
    for (const text of [`${words}: Invoice`, `${words} : Invoice`, `${words.toUpperCase()}: INVOICE`]) {
      expect((await parseMail(mail(FROM, subject(text), '', 'x'))).auto_reply).toBe(true)
    }
  })

  test.each(AUTOMATIC)('is not what somebody writes of one in %s', async (_, words) => {
    for (const text of [`Re: ${words}: Invoice`, `Invoice: ${words}?`, `${words} 365 Outlook`]) {
      expect((await parseMail(mail(FROM, subject(text), '', 'x'))).auto_reply).toBe(false)
    }
  })
})

test('an accepted invitation is automatic, wherever it says so', async () => {
  const calendar = Buffer.from('BEGIN:VCALENDAR\r\nMETHOD:REPLY\r\n').toString('base64')
  const invitation = ['Content-Type: text/calendar', 'Content-Transfer-Encoding: base64', '', calendar]
  const type = 'Content-Type: multipart/alternative; boundary=b'
  expect((await parseMail(mail(FROM, type, '', ...parts(['', 'yes'], invitation)))).auto_reply).toBe(true)
})

/** Failures as mail systems report them: sender, subject, text. Bob's address is in each. */
const REPORTS: Record<string, [from: string, subject: string, ...text: string[]]> = {
  qmail: [
    'MAILER-DAEMON@mx.x.org',
    'failure notice',
    "Hi. This is the qmail-send program at mx.x.org.\nI'm afraid I wasn't able to deliver your message.",
    '<bob@x.org>:\nSorry, no mailbox here by that name. (#5.1.1)',
    '--- Below this line is a copy of the message.\n\nMessage-ID: <ours@desk>',
  ],
  Exim: [
    'Mail Delivery System <Mailer-Daemon@mx.x.org>',
    'Mail delivery failed: returning message to sender',
    'A message that you sent could not be delivered to one or more of its recipients.\n\n  bob@x.org\n    User unknown',
  ],
  Postfix: [
    'MAILER-DAEMON@mx.x.org (Mail Delivery System)',
    'Undelivered Mail Returned to Sender',
    '<bob@x.org>: host mx.x.org[192.0.2.1] said: 550 5.1.1 <bob@x.org>: Recipient address rejected',
  ],
  sendmail: [
    'Mail Delivery Subsystem <MAILER-DAEMON@mx.x.org>',
    'Returned mail: User unknown',
    '   ----- Transcript of session follows -----\n550 <bob@x.org>... User unknown',
    '   ----- Original message follows -----\n\nMessage-ID: <ours@desk>',
  ],
  Gmail: [
    'Mail Delivery Subsystem <mailer-daemon@googlemail.com>',
    'Delivery Status Notification (Failure)',
    "Your message wasn't delivered to bob@x.org because the address couldn't be found.\n550 5.1.1 No such account",
  ],
  'Exchange 2003': [
    'System Administrator <postmaster@x.org>',
    'Unzustellbar: Rechnung',
    'Ihre Nachricht hat einige oder alle Empfänger nicht erreicht.\n  bob@x.org am 01.07.2005\n <mx.x.org #5.1.1>',
  ],
  'Exchange Online': [
    'Microsoft Outlook <MicrosoftExchange329e71ec88ae4615bbc36ab6ce41109e@x.org>',
    'Undeliverable: Invoice',
    'Delivery has failed to these recipients or groups:\nbob@x.org\n#550 5.1.1 RESOLVER.ADR.RecipNotFound',
  ],
  Domino: [
    'Postmaster@x.org',
    'DELIVERY FAILURE: User bob (bob@x.org) not listed in Domino Directory',
    'Your message\n  Subject: Invoice\nwas not delivered to:\n  bob@x.org\nbecause:\n  550 User unknown',
  ],
  KDDI: ['Post Master <postmaster@ezweb.ne.jp>', 'Mail System Error - Returned Mail', '<bob@x.org>: 550 user unknown'],
  French: ['mailer-daemon@x.fr', 'Echec de remise', "Votre message n'a pas pu être remis à bob@x.org"],
  Italian: ['postmaster@x.it', 'Mancata consegna', 'Il messaggio non ha potuto essere consegnato a bob@x.org\n#5.1.1'],
  Dutch: ['postmaster@x.nl', 'Onbestelbaar: Factuur', 'Het bericht kon niet worden bezorgd bij bob@x.org\n#5.1.1'],
  Chinese: ['PostMaster@qq.com', '系统退信', '您的邮件被退回 bob@x.org\n550 Mailbox not found'],
}

/** People, shops and lists that write of failed deliveries. */
const NO_REPORTS: Record<string, [from: string, subject: string, ...text: string[]]> = {
  'who forwards a report': [
    'Ann <ann@x.org>',
    'Fwd: Undelivered Mail Returned to Sender',
    'What is this?\n\nFrom: mailer-daemon@x.org\n<bob@x.org>: 550 5.1.1 User unknown\nMessage-ID: <a@b>',
  ],
  'a parcel service': [
    'DHL <noreply@dhl.example>',
    'Delivery failed: your parcel',
    'Your parcel 534 X could not be delivered because the address is invalid.',
  ],
  'a shop': [
    'Shop <no-reply@shop.example>',
    'Delivery notification',
    'Your order was returned to sender: recipient unknown. 500 items.',
  ],
  'who is called like a mail system': [
    'System Administrator <it@good.example>',
    'Error sending mail from the app',
    'The app says: error sending. Please fix it.',
  ],
  'who is called so and names a code': [
    'Mail Delivery System <jane@good.example>',
    'Undelivered mail',
    'To bob@x.org: 550 5.1.1 User unknown. It could not be delivered.',
  ],
  'a postmaster with a question': [
    'Jane (Postmaster) <postmaster@good.example>',
    'Mail delivery failed',
    'Our invoice could not be delivered to you. Why?',
  ],
  'a postmaster about an error': [
    'Jane <postmaster@good.example>',
    'Your server',
    'It rejected our mail to bob@x.org:\n550 5.1.1 User unknown',
  ],
  'a postmaster who answers': [
    'postmaster@good.example',
    'Re: Undelivered Mail Returned to Sender',
    'Your mail to bob@x.org was rejected:\n550 5.1.1 User unknown\nMessage-ID: <ours@desk>',
  ],
  'a postmaster who passes on a report': [
    'postmaster@good.example',
    'WG: Unzustellbar: Rechnung',
    'bob@x.org\n550 5.1.1 User unknown\nMessage-ID: <ours@desk>',
  ],
  'a robot whose mail is answered': [
    'noreply@good.example',
    'AW: Delivery failure',
    'It could not be delivered.\nMessage-ID: <ours@desk>',
  ],
  'who asks about a report': ['"Mail Administrator" <bob@x.org>', 'About the delivery report', 'How do I read it?'],
}

describe('bounces', () => {
  const utf8 = 'Content-Type: text/plain; charset=utf-8'
  const written = ([from, subject, ...text]: string[]) =>
    Buffer.from([`From: ${from}`, `Subject: ${subject}`, utf8, '', text.join('\n\n')].join('\n'))

  test.each(Object.entries(REPORTS))('a report by %s is one', async (_, report) => {
    const { bounce } = await parseMail(written(report))
    expect([bounce?.kind, bounce?.recipients.map(({ address }) => address)]).toEqual(['failed', ['bob@x.org']])
  })

  test.each(Object.entries(NO_REPORTS))('mail of %s is none', async (_, report) => {
    const { bounce, auto_reply } = await parseMail(written(report))
    expect([bounce, auto_reply]).toEqual([null, false])
  })

  test.each([
    ['Warning: message 1abc delayed 24 hours', 'A message that you sent has not yet been delivered to bob@x.org'],
    ['Delivery Status Notification (Delay)', 'There was a temporary problem delivering your message to bob@x.org.'],
    ['Warning: could not send message for past 4 hours', 'THIS IS A WARNING MESSAGE ONLY'],
  ])('%p is a warning', async (subject, text) => {
    expect((await parseMail(written(['Mailer-Daemon@x.org', subject, text]))).bounce?.kind).toBe('delayed')
  })

  const dsn = (action: string, status: string) =>
    mail(
      'From: MAILER-DAEMON@mx.example.com',
      'Subject: Delivery report',
      'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
      '',
      ...parts(
        ['', 'Sorry.'],
        [
          'Content-Type: message/delivery-status',
          '',
          'Reporting-MTA: dns; mx.example.com',
          '',
          'Final-Recipient: rfc822; Bob@example.org',
          `Action: ${action}`,
          `Status: ${status}`,
          'Diagnostic-Code: smtp; 550 no such user',
        ],
        ['Content-Type: message/rfc822', '', 'Message-ID: <ours@desk>', 'Subject: Hello', '', 'text'],
      ),
    )

  test('a delivery status tells who was not reached, why, and with which message', async () => {
    expect((await parseMail(dsn('failed', '5.1.1'))).bounce).toEqual({
      kind: 'failed',
      is_formal: true,
      recipients: [{ address: 'bob@example.org', status: '5.1.1', diagnostic: '550 no such user', action: 'failed' }],
      about: { message_ids: ['ours@desk'], return_addresses: [] },
      diagnostic: '550 no such user',
    })
  })

  test('a report that a person passes on is none', async () => {
    const status = ['Content-Type: message/delivery-status', '', 'Final-Recipient: rfc822; b@x.org', 'Action: failed']
    const type = 'Content-Type: multipart/mixed; boundary=b'
    const passedOn = [
      mail(FROM, type, '', ...parts(['', 'look'], status)),
      mail(
        FROM,
        type,
        '',
        ...parts(['', 'look'], ['Content-Type: message/rfc822', '', dsn('failed', '5.1.1').toString()]),
      ),
    ]
    for (const raw of passedOn) expect((await parseMail(raw)).bounce).toBeNull()
  })

  test('a delay and a confirmation are automatic and no failure', async () => {
    for (const [action, status] of [
      ['delayed', '4.4.1'],
      ['delivered', '2.0.0'],
    ] as const) {
      const parsed = await parseMail(dsn(action, status))
      expect([parsed.bounce?.kind, parsed.auto_reply]).toEqual([action, true])
    }
  })

  test('a bounce in plain words is one when a mail system wrote it', async () => {
    const body = [
      '',
      'Your message could not be delivered:',
      '<bob@example.org>: 550 5.1.1 User unknown',
      '',
      '--- Original message ---',
      'Message-ID: <ours@desk>',
    ]
    const parsed = await parseMail(
      mail('From: Mail Delivery System <mailer-daemon@x.org>', 'Subject: Undelivered Mail Returned to Sender', ...body),
    )
    expect(parsed.bounce).toMatchObject({
      kind: 'failed',
      recipients: [{ address: 'bob@example.org', status: '5.1.1' }],
      about: { message_ids: ['ours@desk'] },
      diagnostic: '<bob@example.org>: 550 5.1.1 User unknown',
    })
    expect(
      (await parseMail(mail(FROM, 'Subject: Fwd: Undelivered Mail Returned to Sender', ...body))).bounce,
    ).toBeNull()
  })

  test.each([
    ['Jane <jane@x.org>', 'Automatic reply: Delivery problem', 'I am unable to answer until Monday.', undefined],
    ['<help@x.org>', 'Delivery problem', 'Your mail to bob@x.org was rejected:\n550 User unknown', 'failed'],
    ['<sysadmin@x.org>', 'Message', 'Mail to bob@x.org failed:\n550 User unknown', 'failed'],
    ['<sysadmin@x.org>', 'Re: Message', 'Mail to bob@x.org failed:\n550 User unknown', undefined],
    ['MAILER-DAEMON <>', 'Message', 'Mail to bob@x.org failed:\n550 User unknown', 'failed'],
  ])('from the null sender, %s %p %p is read as %p', async (from, subject, text, kind) => {
    const raw = Buffer.concat([Buffer.from('Return-Path: <>\n'), written([from, subject, text])])
    expect((await parseMail(raw)).bounce?.kind).toBe(kind as 'failed' | undefined)
  })

  test.each([
    [[], ['ours@desk']],
    [['In-Reply-To: <other@desk>'], ['other@desk']],
  ])('a read receipt with %p answers %p', async (lines, expected) => {
    const head = 'Content-Type: multipart/report; report-type=disposition-notification; boundary=b'
    const notification = ['Final-Recipient: rfc822;ann@x.org', 'Original-Message-ID: <ours@desk>', 'Disposition: x/y']
    const receipt = ['Content-Type: message/disposition-notification', '', ...notification]
    const parsed = await parseMail(mail(FROM, head, ...lines, '', ...parts(['', 'Read.'], receipt)))
    expect([parsed.in_reply_to, parsed.auto_reply, parsed.bounce]).toEqual([expected, true, null])
  })

  test('a complaint report is no bounce', async () => {
    const report = ['Content-Type: message/feedback-report', '', 'Feedback-Type: abuse']
    const head = 'Content-Type: multipart/report; report-type=feedback-report; boundary=b'
    const parsed = await parseMail(
      mail('From: postmaster@x.org', 'Subject: failure notice', head, '', ...parts(report)),
    )
    expect([parsed.bounce, parsed.auto_reply]).toEqual([null, true])
  })
})
