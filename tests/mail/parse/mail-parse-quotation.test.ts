/** The quoted part of an answer, and words of its writer that look quoted: whole messages of many programs. */
import { describe, expect, test } from 'bun:test'
import { parseMail } from '../../../src/mail/parse/parse'

/** An answer as it arrives. */
function answer(text: string, type = 'text/plain'): Buffer {
  const header = [
    'From: Ann <ann@x.org>',
    'To: Support <support@desk.example>',
    'Subject: Re: Pump',
    'In-Reply-To: <1@desk.example>',
    'MIME-Version: 1.0',
    `Content-Type: ${type}; charset=utf-8`,
    'Content-Transfer-Encoding: 8bit',
  ]
  return Buffer.from(`${header.join('\r\n')}\r\n\r\n${text.replace(/\n/g, '\r\n')}`)
}

async function replyOf(text: string, type?: string): Promise<string> {
  return (await parseMail(answer(text, type))).reply_text ?? ''
}

const GMAIL = 'On Tue, Nov 17, 2026 at 9:00 AM Support <support@desk.example> wrote:'
const OUTLOOK =
  'From: Support <support@desk.example>\nSent: Tuesday, November 17, 2026 9:00 AM\nTo: Ann\nSubject: Pump\n\nOld.'
const OLD = '> Does it leak?\n>\n> Support\n'

describe('the request of a helpdesk to answer above a line', () => {
  const jira = '—-—-—-—\nReply above this line.\n\nKim commented:\n\nThe pump is repaired.'

  test.each([
    ['Zendesk', '##- Please type your reply above this line -##\n\nThe pump is repaired.', 'The pump is repaired.'],
    [
      'Zendesk in German',
      '##- Bitte geben Sie Ihre Antwort oberhalb dieser Zeile ein. -##\n\nAlles gut.',
      'Alles gut.',
    ],
    ['Zendesk in French', '##- Veuillez saisir votre réponse au-dessus de cette ligne -##\n\nOui.', 'Oui.'],
    ['Zendesk in Spanish', '##- Por favor, escriba su respuesta por encima de esta línea -##\n\nSí.', 'Sí.'],
    ['Zendesk in Italian', '##- Digita la risposta sopra questa riga -##\n\nSì.', 'Sì.'],
    ['Zendesk in Portuguese', '##- Digite sua resposta acima desta linha -##\n\nSim.', 'Sim.'],
    ['Zendesk in Dutch', '##- Typ uw antwoord boven deze regel -##\n\nJa.', 'Ja.'],
    ['Jira', jira, 'Kim commented:\n\nThe pump is repaired.'],
    [
      'Jira behind a gateway',
      `CAUTION: This email originated from outside.\n\n${jira}`,
      'Kim commented:\n\nThe pump is repaired.',
    ],
    ['FreeScout', '-- Please reply above this line --\n\nThe pump is repaired.', 'The pump is repaired.'],
    ['Redmine', '===== Reply above this line =====\n\nIssue #5 was closed.', 'Issue #5 was closed.'],
    ['Help Scout', '## Reply above this line to add a comment ##\n\nClosed.', 'Closed.'],
  ])('has the words of %s below it', async (_, text, expected) => {
    expect(await replyOf(text)).toBe(expected)
  })

  test.each([
    ['Zendesk', '##- Please type your reply above this line -##\n\nYour request (5) was updated.'],
    ['Jira', jira],
    ['German', '##- Bitte geben Sie Ihre Antwort oberhalb dieser Zeile ein. -##\nAlt.'],
    ['osTicket', '-- reply above this line --\nOld.'],
  ])('of %s ends the words above it', async (_, text) => {
    expect(await replyOf(`New.\n\n${text}`)).toBe('New.')
  })

  test.each([
    'New.\n\nWhy does your mail say: "Reply above this line"?\n\nI did.',
    'I filled the form.\n\nPlease enter your name above the line.\n\nThat is what it says.',
    'Bitte die Nummer über der Linie ablesen.\n\nSie lautet 12.',
    'New.\n\nI wrote above this line what my comment is, and you did not read it.\n\nAnn',
  ])('is not what somebody says of a line: %p', async (text) => {
    expect(await replyOf(text)).toBe(text)
  })

  test('stays with the answers between quoted lines', async () => {
    const text = '> ##- Please type your reply above this line -##\n> One?\nYes.\n> Two?\nNo.'
    expect(await replyOf(text)).toBe(text)
  })
})

describe('what a person tells of a mail', () => {
  test.each([
    'Hello,\n\nOn 16 November your colleague wrote:\n\nThe pump will be replaced.\n\nIt was not. What now?',
    'Hello,\n\nOn 16 November 2026 at 10:00 your colleague wrote:\n\nThe pump will be replaced.\n\nWhen?',
    'Hallo,\n\nAm 16. November schrieb Ihr Kollege:\n\nDie Pumpe wird getauscht.\n\nWann?',
    'Hallo,\n\nAm 16.11.2026 um 10:00 schrieb mir Ihr Kollege:\n\nDie Pumpe wird getauscht.\n\nWann?',
    'Bonjour,\n\nLe 16 novembre votre collègue a écrit :\n\nLa pompe sera changée.\n\nQuand ?',
    'Hola:\n\nEl 16 de noviembre su compañero escribió:\n\nSe cambiará la bomba.\n\n¿Cuándo?',
    'Buongiorno,\n\nIl 16 novembre il collega ha scritto:\n\nLa pompa sarà cambiata.\n\nQuando?',
    'Hallo,\n\nOp 16 november schreef uw collega:\n\nDe pomp wordt vervangen.\n\nWanneer?',
    'On page 5 of 20 the manual wrote:\n\nTurn it off.\n\nI did.',
    'In step 2 somebody wrote:\nTurn it off.\nIs that right?',
    'Hello,\n\nThe log of 2026-11-12 10:00 for user <kim@kunde.example> says:\n\nE42 no paper\n\nWhat now?',
    'Hello,\n\nHere is what user <kim@kunde.example> got on 2026-11-12 10:00:\nE42 no paper\n\nWhat now?',
  ])('announces no quotation: %p', async (text) => {
    expect(await replyOf(text)).toBe(text)
  })

  test('announces one that has marks and ends the mail', async () => {
    const told = 'The log of 2026-11-12 10:00 for user <kim@kunde.example> says:'
    expect(await replyOf(`No paper?\n\n${told}\n> E42 no paper`)).toBe('No paper?')
  })

  test('stays with the lines that they mark as quoted', async () => {
    const text = 'Hello,\n\nOn 16 November your colleague wrote:\n> It will be replaced.\n\nIt was not.'
    expect(await replyOf(text)).toBe(text)
  })

  test.each([
    'Please send it.\n\nFrom: Hamburg\nTo: Berlin\nDate: 3 December\n\nHow much is it?',
    'Please send it.\n\nFrom: Hamburg\nTo: Berlin\nDate: 03.12.2026 10:00\n\nHow much is it?',
    'Bitte abholen.\n\nVon: Hamburg\nAn: Berlin\nDatum: 3. Dezember 2026, 10:00 Uhr\n\nWas kostet es?',
    'De: Paris\nÀ: Lyon\nDate: 3 décembre\n\nCombien ?',
    'De: Madrid\nPara: Sevilla\nFecha: 3/12/2026 10:00\n\n¿Cuánto?',
    'Da: Milano\nA: Roma\nData: 3 dicembre\n\nQuanto?',
    'Od: Warszawa\nDo: Kraków\nData: 3.12.2026\n\nIle?',
    'The flight:\nFrom: HAM\nTo: BER\nDate: 3 Dec 2026 10:00\nPassenger: Ann <ann@x.org>\n\nIs it booked?',
    'Date: 3 December\nTo: Berlin\nFrom: Hamburg\n\nIs it booked?',
    'From: is empty.\nTo: is empty.\nSubject: is empty.\n\nWhy?',
  ])('lists no header of a mail: %p', async (text) => {
    expect(await replyOf(text)).toBe(text)
  })
})

describe('words below the delimiter of a signature', () => {
  test.each([
    'Hello,\n\nhere is the log:\n--\nError 5\n--\nWhat does it mean?',
    'Hello\n--\nAnn\n\nP.S. Please cancel order 5, too.',
    'Hello\n-- \nAnn\nAcme Ltd.\n\nPS: the code of the door is 1234',
    'Hello\n-- \nAnn\nPS: bring a ladder',
    'It still leaks.\n\n--\n\nAnd the second one does not start any more.',
    'Kind regards\n--\nI forgot: please cancel order 5, too.',
    'Guten Tag,\n--\ndie Pumpe ist undicht und macht Lärm.\n--\nKönnen Sie kommen?',
    'First thing.\n\n--\n\nSecond thing: can you call me?',
    'Erstens: ja.\n--\nZweitens möchten wir den Vertrag kündigen.\n--\nDanke',
  ])('stay: %p', async (text) => {
    expect(await replyOf(text)).toBe(text)
  })

  test.each([
    ['New.\n\n-- \nAnn Smith\nAcme Ltd.\n+44 20 1234'],
    ['New.\n\n--\nAnn Smith\nAcme Ltd.\nMain Street 5'],
    ['New.\n\n-- \nAnn\n\nAcme GmbH\nSitz: Berlin, HRB 1234\nGeschäftsführer: Max Muster'],
    ['New.\n\n-- \nThis e-mail is confidential and intended only for the addressee.'],
    ['New.\n\n--\nAnn\n\nThis message is confidential. If you are not the recipient, please delete it.'],
    ['New.\n\n-- \nOld programmers never die. They just branch to a new address.'],
    [
      'New.\n\n-- \nAnn\n\n-- \nYou received this message because you are subscribed to the Google Groups "x" group.\nTo unsubscribe from this group, send an email to x+unsubscribe@googlegroups.com.',
    ],
  ])('are cut when they are a signature: %p', async (text) => {
    expect(await replyOf(text)).toBe('New.')
  })
})

describe('what stands below the quotation', () => {
  const group =
    '-- \nYou received this message because you are subscribed to the Google Groups "Help" group.\nTo unsubscribe from this group and stop receiving emails from it, send an email to help+unsubscribe@googlegroups.com.\nTo view this discussion visit https://groups.google.com/d/msgid/help/x.'

  test.each([
    ['a Google Group', group],
    ['a Google Group in HTML', group.replace('-- ', '--')],
    ['Thunderbird with its signature', '-- \nAnn Smith\nAcme Ltd.'],
    ['a lawyer', 'This e-mail and any attachments are confidential. If you are not the intended recipient, delete it.'],
    [
      'a lawyer in German',
      'Diese E-Mail enthält vertrauliche Informationen. Wenn Sie nicht der richtige Adressat sind, löschen Sie sie.',
    ],
    [
      'Mailman',
      '_______________________________________________\nhelp mailing list\nhelp@lists.x.org\nhttps://lists.x.org/listinfo/help',
    ],
    ['Avast', '-- \nDiese E-Mail wurde von Avast-Antivirussoftware auf Viren geprüft.\nwww.avast.com'],
    ['both', `-- \nAnn\n\n${group}`],
  ])('from %s does not unfold it', async (_, footer) => {
    expect(await replyOf(`New.\n\n${GMAIL}\n${OLD}\n${footer}\n`)).toBe('New.')
  })

  test.each([
    ['New.', 'And please call me.', 'New.\n\nAnd please call me.'],
    ['Hello,', 'yes, it leaks.\n\nAnn', 'Hello,\n\nyes, it leaks.\n\nAnn'],
    ['New.\n-- \nAnn', 'One more thing: bring a ladder.', 'New.\n\nOne more thing: bring a ladder.'],
    ['Siehe unten.', 'Ja, seit gestern.\n-- \nAnn', 'Siehe unten.\n\nJa, seit gestern.'],
  ])('is kept when its writer wrote it: %p', async (above, below, expected) => {
    expect(await replyOf(`${above}\n\n${GMAIL}\n\n${OLD}\n${below}\n`)).toBe(expected)
  })

  test.each([
    ['an announcement', `${GMAIL}\n${OLD}\nYes, it leaks.`],
    ['a marker', `-----Original Message-----\n${OLD}\nYes, it leaks.`],
    ['a header block', `> From: Support <support@desk.example>\n> Sent: Tue\n${OLD}\nYes, it leaks.`],
  ])('of %s without words above is kept', async (_, text) => {
    expect(await replyOf(text)).toContain('Yes, it leaks.')
  })

  test('is kept in HTML, where the quotation is an element', async () => {
    const html = `<p>New.</p><div class="gmail_quote"><div>${GMAIL.replace(/[<>]/g, '')}</div><blockquote>Does it leak?</blockquote></div><p>Yes, it leaks.</p>`
    expect(await replyOf(html, 'text/html')).toBe('New.\n\nYes, it leaks.')
  })

  test('belongs to the answers where several things are quoted', async () => {
    const text = `Hello,\n\n${GMAIL}\n> One?\nYes.\n> Two?\nNo.`
    expect(await replyOf(text)).toBe(text)
  })
})

describe('lines above a header block that is cut', () => {
  test.each([
    [
      'T-Online',
      '-----Original-Nachricht-----\nBetreff: Pump\nDatum: 2026-11-17T09:00:00+0100\nVon: "Support" <support@desk.example>\nAn: "Ann" <ann@x.org>\n\nOld.',
    ],
    [
      'Seznam',
      '---------- Původní e-mail ----------\nOd: Support <support@desk.example>\nKomu: ann@x.org\nDatum: 17. 11. 2026 9:00:00\nPředmět: Pump\n\nOld.',
    ],
    [
      'QQ',
      '------------------ Original ------------------\nFrom: "Support" <support@desk.example>;\nDate: Tue, Nov 17, 2026 09:00 AM\nTo: "Ann" <ann@x.org>;\nSubject: Pump\n\nOld.',
    ],
    [
      'Zimbra',
      '----- Mail original -----\nDe: "Support" <support@desk.example>\nÀ: "Ann" <ann@x.org>\nEnvoyé: Mardi 17 Novembre 2026 09:00:00\nObjet: Pump\n\nOld.',
    ],
    ['Notes', 'Subject: Pump\nFrom: Support/Acme\nDate: 17.11.2026 09:00\nTo: Ann\n\nOld.'],
    ['Outlook', `________________________________\n${OUTLOOK}`],
    ['Outlook with a rule of dashes', `--------------------\n\n${OUTLOOK}`],
    ['a program with asterisks', `* * * * *\n${OUTLOOK}`],
    ['a program with long dashes', `———————————\n${OUTLOOK}`],
  ])('of %s do not stay', async (_, history) => {
    expect(await replyOf(`New.\n\n${history}`)).toBe('New.')
  })

  test('stay when they are words', async () => {
    expect(await replyOf(`New.\nSubject: see below\n\n${OUTLOOK}`)).toBe('New.\nSubject: see below')
  })
})
