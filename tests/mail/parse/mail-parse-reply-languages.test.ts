/**
 * The new part of a reply in many languages: announcements of Gmail, header blocks of Outlook, signatures of phones.
 */
import { describe, expect, test } from 'bun:test'
import { parseMail } from '../../../src/mail/parse/parse'
import { replyText } from '../../../src/mail/parse/reply-text'

const NAME = 'Acme Corporation Customer Support'
const SENDER = `${NAME} <support@desk.example>`

/** How Gmail announces a quote. */
const GMAIL: [language: string, announcement: string][] = [
  ['English', `On Tue, Nov 17, 2026 at 9:00 AM ${SENDER} wrote:`],
  ['German', `Am Di., 17. Nov. 2026 um 09:00 Uhr schrieb ${SENDER}:`],
  ['French', `Le mar. 17 nov. 2026 à 09:00, ${SENDER} a écrit :`],
  ['Spanish', `El mar, 17 nov 2026 a las 9:00, ${NAME} (<support@desk.example>) escribió:`],
  ['Italian', `Il giorno mar 17 nov 2026 alle ore 09:00 ${SENDER} ha scritto:`],
  ['Brazilian', `Em ter., 17 de nov. de 2026 às 09:00, ${SENDER} escreveu:`],
  ['Portuguese', `${SENDER} escreveu (terça, 17/11/2026 à(s) 09:00):`],
  ['Dutch', `Op di 17 nov 2026 om 09:00 schreef ${SENDER}:`],
  ['Polish', `wt., 17 lis 2026 o 09:00 ${SENDER} napisał(a):`],
  ['Russian', `вт, 17 нояб. 2026 г. в 09:00, ${SENDER}:`],
  ['Ukrainian', `вт, 17 лист. 2026 р. о 09:00 ${SENDER} пише:`],
  ['Turkish', `${SENDER}, 17 Kas 2026 Sal, 09:00 tarihinde şunu yazdı:`],
  ['Czech', `út 17. 11. 2026 v 9:00 odesílatel ${SENDER} napsal:`],
  ['Slovak', `ut 17. 11. 2026 o 9:00 ${SENDER} napísal(a):`],
  ['Hungarian', `${SENDER} ezt írta (időpont: 2026. nov. 17., K, 9:00):`],
  ['Romanian', `mar., 17 nov. 2026, 09:00 ${SENDER} a scris:`],
  ['Bulgarian', `На вт, 17.11.2026 г. в 9:00 ${SENDER} написа:`],
  ['Greek', `Στις Τρί 17 Νοε 2026 στις 9:00 π.μ., ο χρήστης ${SENDER} έγραψε:`],
  ['Finnish', `ti 17. marrask. 2026 klo 9.00 ${NAME} (support@desk.example) kirjoitti:`],
  ['Swedish', `Den tis 17 nov. 2026 kl 09:00 skrev ${SENDER}:`],
  ['Danish', `Den tirs. 17. nov. 2026 kl. 09.00 skrev ${SENDER}:`],
  ['Norwegian', `tir. 17. nov. 2026 kl. 09:00 skrev ${SENDER}:`],
  ['Japanese', `2026年11月17日(火) 9:00 ${SENDER}:`],
  ['Chinese', `${SENDER} 于2026年11月17日周二 09:00写道：`],
  ['Chinese of Taiwan', `${SENDER} 於 2026年11月17日 週二 上午9:00寫道：`],
  ['Korean', `2026년 11월 17일 (화) 오전 9:00, ${SENDER}님이 작성:`],
  [
    'Hebrew',
    `\u202bבתאריך יום ג׳, 17 בנוב׳ 2026 ב-9:00 מאת \u202a${NAME}\u202c <\u202asupport@desk.example\u202c>:\u202c`,
  ],
  ['Arabic', `في الثلاثاء، ١٧ نوفمبر ٢٠٢٦ في ٩:٠٠ ص تمت كتابة ما يلي بواسطة ${SENDER}:`],
  ['Persian', `در تاریخ سه‌شنبه ۱۷ نوامبر ۲۰۲۶،\u200f ۹:۰۰ ${SENDER} نوشت:`],
  ['Hindi', `मंगल, 17 नव॰ 2026 को 9:00 am बजे ${SENDER} ने लिखा:`],
  ['Thai', `ในวันที่ อ. 17 พ.ย. 2569 เวลา 09:00 ${SENDER} เขียนว่า:`],
  ['Vietnamese', `Vào Th 3, 17 thg 11, 2026 vào lúc 09:00 ${SENDER} đã viết:`],
  ['Indonesian', `Pada Sel, 17 Nov 2026 pukul 09.00 ${SENDER} menulis:`],
  ['Catalan', `Missatge de ${SENDER} del dia dt., 17 de nov. 2026 a les 9:00:`],
  ['Croatian', `uto, 17. stu 2026. u 09:00 ${SENDER} napisao je:`],
  ['Lithuanian', `2026-11-17, an, 09:00 ${SENDER} rašė:`],
  ['Latvian', `otrd., 2026. g. 17. nov., plkst. 09:00 — lietotājs ${NAME} (<support@desk.example>) rakstīja:`],
  ['Estonian', `${SENDER} kirjutas kuupäeval T, 17. november 2026 kell 09:00:`],
]

/** The header that Outlook puts above a quote: sender, date, recipient, subject. */
const OUTLOOK: [language: string, labels: [from: string, date: string, to: string, subject: string], date: string][] = [
  ['English', ['From', 'Sent', 'To', 'Subject'], 'Tuesday, November 17, 2026 9:00 AM'],
  ['German', ['Von', 'Gesendet', 'An', 'Betreff'], 'Dienstag, 17. November 2026 09:00'],
  ['French', ['De', 'Envoyé', 'À', 'Objet'], 'mardi 17 novembre 2026 09:00'],
  ['Spanish', ['De', 'Enviado', 'Para', 'Asunto'], 'martes, 17 de noviembre de 2026 9:00'],
  ['Italian', ['Da', 'Inviato', 'A', 'Oggetto'], 'martedì 17 novembre 2026 09:00'],
  ['Portuguese', ['De', 'Enviado', 'Para', 'Assunto'], '17 de novembro de 2026 09:00'],
  ['Dutch', ['Van', 'Verzonden', 'Aan', 'Onderwerp'], 'dinsdag 17 november 2026 09:00'],
  ['Swedish', ['Från', 'Skickat', 'Till', 'Ämne'], 'den 17 november 2026 09:00'],
  ['Danish', ['Fra', 'Sendt', 'Til', 'Emne'], '17. november 2026 09:00'],
  ['Finnish', ['Lähettäjä', 'Lähetetty', 'Vastaanottaja', 'Aihe'], 'tiistai 17. marraskuuta 2026 9.00'],
  ['Polish', ['Od', 'Wysłano', 'Do', 'Temat'], 'wtorek, 17 listopada 2026 09:00'],
  ['Czech', ['Od', 'Odesláno', 'Komu', 'Předmět'], 'úterý 17. listopadu 2026 9:00'],
  ['Slovak', ['Od', 'Odoslané', 'Komu', 'Predmet'], 'utorok 17. novembra 2026 9:00'],
  ['Hungarian', ['Feladó', 'Elküldve', 'Címzett', 'Tárgy'], '2026. november 17., kedd 9:00'],
  ['Romanian', ['De la', 'Trimis', 'Către', 'Subiect'], 'marți, 17 noiembrie 2026 09:00'],
  ['Turkish', ['Gönderen', 'Gönderildi', 'Kime', 'Konu'], '17 Kasım 2026 Salı 09:00'],
  ['Turkish of another version', ['Kimden', 'Gönderme Tarihi', 'Kime', 'Konu'], '17 Kasım 2026 Salı 09:00'],
  ['Greek', ['Από', 'Στάλθηκε', 'Προς', 'Θέμα'], 'Τρίτη, 17 Νοεμβρίου 2026 9:00 πμ'],
  ['Russian', ['От', 'Отправлено', 'Кому', 'Тема'], '17 ноября 2026 г. 9:00'],
  ['Ukrainian', ['Від', 'Надіслано', 'Кому', 'Тема'], '17 листопада 2026 р. 9:00'],
  ['Bulgarian', ['От', 'Изпратено', 'До', 'Относно'], 'вторник, 17 ноември 2026 г. 9:00'],
  ['Hebrew', ['מאת', 'נשלח', 'אל', 'נושא'], 'יום שלישי 17 נובמבר 2026 09:00'],
  ['Arabic', ['من', 'تاريخ الإرسال', 'إلى', 'الموضوع'], '١٧ نوفمبر ٢٠٢٦ ٠٩:٠٠'],
  ['Japanese', ['差出人', '送信日時', '宛先', '件名'], '2026年11月17日 9:00'],
  ['Chinese', ['发件人', '发送时间', '收件人', '主题'], '2026年11月17日 9:00'],
  ['Korean', ['보낸 사람', '보낸 날짜', '받는 사람', '제목'], '2026년 11월 17일 화요일 오전 9:00'],
  ['Vietnamese', ['Từ', 'Đã gửi', 'Đến', 'Chủ đề'], '17 tháng 11 năm 2026 9:00'],
  ['Croatian', ['Šalje', 'Poslano', 'Prima', 'Predmet'], '17. studenoga 2026. 9:00'],
  ['a language that nobody thought of', ['Oddo', 'Gerriz', 'Numo', 'Temo'], '17 Zub 2026 9:00'],
]

const SIGNATURES: [language: string, line: string][] = [
  ['Turkish', 'iPhone’umdan gönderildi'],
  ['Turkish with a plain apostrophe', "iPad'imden gönderildi"],
  ['Turkish of Samsung', 'Samsung cihazımdan gönderildi'],
  ['Turkish of Yahoo', "Android'de Yahoo Postadan gönderildi"],
  ['Turkish of Outlook', 'Android için Outlook’u edinin<https://aka.ms/AAb9ysg>'],
  ['Italian', 'Inviato da iPhone'],
  ['Italian with an article', 'Inviato dal mio iPhone'],
  ['Italian of an app', 'Inviato dall’app Libero Mail'],
  ['Italian with another apostrophe', "Inviato dall'app Posta"],
  ['Italian of Yahoo', 'Inviata da Yahoo Mail su Android'],
  ['Portuguese', 'Enviado do meu iPhone'],
  ['Greek', 'Εστάλη από το iPhone μου'],
  ['Hungarian', 'Elküldve az iPhone-omról'],
  ['Hungarian of another version', 'iPhone-omról küldve'],
  ['Croatian', 'Poslano s mog iPhonea'],
  ['Vietnamese', 'Đã gửi từ iPhone của tôi'],
  ['Indonesian', 'Dikirim dari iPhone saya'],
  ['Thai', 'ส่งจาก iPhone ของฉัน'],
  ['Arabic', 'تم الإرسال من الـ iPhone'],
]

const FIRST_MAILS: [what: string, text: string][] = [
  ['names fields of a mail', 'Hello,\n\nFrom: is wrong in the export.\nTo: as well.\nSubject: too.\n\nWhat to do?'],
  ['names fields of a mail in German', 'Hallo,\n\nVon: falsch.\nAn: ebenso.\nBetreff: auch.\n\nWas tun?'],
  ['is a form', 'From: Ann <ann@x.org>\nSent: 17.11.2026 09:00\nTo: Shop\nSubject: Order\n\nWhere is it?'],
  [
    'copies a mail of others',
    `Look:\n\nFrom: ${SENDER}\nSent: 17 Nov 2026 9:00\nTo: Ann\nSubject: Order\n\nIs it true?`,
  ],
  ['tells who wrote', 'Am 12.11.2026 um 10:00 schrieb das Programm:\n\nFehler 12\n\nWas tun?'],
  ['copies what somebody wrote', `On 17 Nov 2026 at 9:00 ${SENDER} wrote:\n\nHello\n\nIs it true?`],
]

describe('the announcement of Gmail', () => {
  test.each(GMAIL)('in %s is cut, with and without quote marks, on one line and wrapped', (_, announcement) => {
    for (const line of [announcement, ...wrapped(announcement)]) {
      expect(replyText(`New.\n\n${line}\n\n> Old.\n>\n> Older.`)).toBe('New.')
      expect(replyText(`New.\n\n${line}\n\nOld.`)).toBe('New.')
    }
  })
})

describe('the header block of Outlook', () => {
  test.each(OUTLOOK)('in %s is cut, however it writes the sender', (_, labels, date) => {
    for (const from of ['support@desk.example', 'Support [mailto:support@desk.example]', SENDER]) {
      const values = [from, date, 'Kim <kim@kunde.example>', 'Order']
      const block = labels.map((label, index) => `${label}: ${values[index]}`)
      const bold = labels.map((label, index) => `*${label}:* ${values[index]}`)
      for (const lines of [block, ['________________________________', ...block], bold]) {
        expect(replyText(`New.\n\n${lines.join('\n')}\n\nOld.`)).toBe('New.')
      }
    }
  })

  test('is not what a list of other things is', () => {
    const list = 'Email: ann@x.org\nDate: 1.7.2025 10:00\nSize: 5\nColour: red'
    expect(replyText(list)).toBe(list)
  })
})

describe('the signature of a phone', () => {
  test.each(SIGNATURES)('in %s is cut', (_, line) => {
    expect(replyText(`New.\n\n${line}`)).toBe('New.')
    expect(replyText(`New.\n${line}\n\nOn Tue, 17 Nov 2026 at 09:00, Ann <ann@x.org> wrote:\n> Old.`)).toBe('New.')
  })

  test.each([
    'Paket gönderildi',
    'Das Paket wurde von meinem Kollegen verschickt',
    'Ho inviato da poco la foto',
    'Elküldve',
  ])('is not what somebody says of a thing that was sent: %s', (line) => {
    expect(replyText(`New.\n\n${line}`)).toBe(`New.\n\n${line}`)
  })
})

describe('a first mail', () => {
  test.each(FIRST_MAILS)('that %s is kept whole', async (_, text) => {
    expect((await parseMail(mailOf({ Subject: 'Import' }, text))).reply_text).toBe(text)
  })

  test.each([
    ['an id that it answers', { Subject: 'Import', 'In-Reply-To': '<a@desk.example>' }],
    ['ids of its conversation', { Subject: 'Import', References: '<a@desk.example>' }],
    ['a prefix of answers', { Subject: 'AW: Import' }],
    ['a mark of its gateway and a prefix', { Subject: '[EXTERNAL] Re: Import' }],
    ['the code of a ticket', { Subject: 'Import [ACME-12]' }],
  ])('is not one with %s', async (_, fields) => {
    const text = `New.\n\nFrom: ${SENDER}\nSent: 17 Nov 2026 9:00\nTo: Ann\nSubject: Import\n\nOld.`
    expect((await parseMail(mailOf(fields, text))).reply_text).toBe('New.')
  })

  test('loses quoted lines and what a mail program marks as another mail', async () => {
    const quote = `On 17 Nov 2026 at 9:00 ${SENDER} wrote:\n> Old.`
    for (const old of [quote, '-----Original Message-----\nOld.']) {
      expect((await parseMail(mailOf({ Subject: 'Import' }, `New.\n\n${old}`))).reply_text).toBe('New.')
    }
  })
})

function mailOf(fields: Record<string, string>, text: string): Buffer {
  const header = { From: 'ann@x.org', ...fields, 'Content-Type': 'text/plain; charset=utf-8' }
  return Buffer.from(
    `${Object.entries(header)
      .map(([name, value]) => `${name}: ${value}\n`)
      .join('')}\n${text}`,
  )
}

/** A line as Gmail wraps it: behind the bracket of the address, before it, and at the last space before column 72. */
function wrapped(line: string): string[] {
  const end = line.lastIndexOf(' ', 72)
  return [
    line.replace(/<(?=[^<>]*@)/, '<\n'),
    line.replace(/ (?=\(?<)/, '\n'),
    ...(line.length > 72 && end > 0 ? [`${line.slice(0, end)}\n${line.slice(end + 1)}`] : []),
  ]
}
