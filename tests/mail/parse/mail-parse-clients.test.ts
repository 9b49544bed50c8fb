/** Answers as mail programs and helpdesks all over the world write them: what of each is new. */
import { expect, test } from 'bun:test'
import { parseMail } from '../../../src/mail/parse/parse'

const S = 'Support <support@desk.example>'

/** Mail in plain text. */
const TEXTS: [program: string, text: string, reply: string][] = [
  [
    'Outlook in German, new',
    `Ja.\n\nVon: ${S}\nGesendet: Dienstag, 17. November 2026 09:00\nAn: Ann <ann@x.org>\nCc: Bob <bob@x.org>\nBetreff: Pumpe\n\nAlt.`,
    'Ja.',
  ],
  [
    'Outlook in German for phones',
    `Ja.\n\nOutlook für iOS<https://aka.ms/o0ukef> beziehen\n________________________________\nVon: ${S}\nGesendet: Dienstag, November 17, 2026 9:00 AM\nAn: Ann\nBetreff: Pumpe\n\nAlt.`,
    'Ja.',
  ],
  [
    'Outlook in French',
    `Oui.\n\nDe : ${S}\nEnvoyé : mardi 17 novembre 2026 09:00\nÀ : Ann <ann@x.org>\nObjet : RE: Pompe\n\nAncien.`,
    'Oui.',
  ],
  [
    'Outlook in French with bold labels',
    `Oui.\n\n*De :* ${S}\n*Envoyé :* mardi 17 novembre 2026 09:00\n*À :* Ann\n*Objet :* Pompe\n\nAncien.`,
    'Oui.',
  ],
  [
    'Outlook in Italian',
    `Sì.\n\nDa: ${S}\nInviato: martedì 17 novembre 2026 09:00\nA: Ann\nOggetto: Pompa\n\nVecchio.`,
    'Sì.',
  ],
  [
    'Outlook in Spanish',
    `Sí.\n\nDe: ${S}\nEnviado el: martes, 17 de noviembre de 2026 9:00\nPara: Ann\nAsunto: Bomba\n\nViejo.`,
    'Sí.',
  ],
  [
    'Outlook in Brazil',
    `Sim.\n\nDe: ${S}\nEnviada em: terça-feira, 17 de novembro de 2026 09:00\nPara: Ann\nAssunto: Bomba\n\nVelho.`,
    'Sim.',
  ],
  [
    'Outlook in Dutch',
    `Ja.\n\nVan: ${S}\nVerzonden: dinsdag 17 november 2026 09:00\nAan: Ann\nOnderwerp: Pomp\n\nOud.`,
    'Ja.',
  ],
  [
    'Outlook in Polish',
    `Tak.\n\nOd: ${S}\nWysłano: wtorek, 17 listopada 2026 09:00\nDo: Ann\nTemat: Pompa\n\nStare.`,
    'Tak.',
  ],
  [
    'Outlook in Slovenian',
    `Da.\n\nOd: ${S}\nPoslano: torek, 17. november 2026 09:00\nZa: Ann\nZadeva: Črpalka\n\nStaro.`,
    'Da.',
  ],
  [
    'Outlook in Lithuanian',
    `Taip.\n\nNuo: ${S}\nIšsiųsta: 2026 m. lapkričio 17 d. 09:00\nKam: Ann\nTema: Siurblys\n\nSenas.`,
    'Taip.',
  ],
  [
    'Outlook in Estonian',
    `Jah.\n\nSaatja: ${S}\nSaadetud: teisipäev, 17. november 2026 09:00\nAdressaat: Ann\nTeema: Pump\n\nVana.`,
    'Jah.',
  ],
  [
    'Outlook in Latvian',
    `Jā.\n\nNo: ${S}\nNosūtīts: otrdiena, 2026. gada 17. novembris 09:00\nKam: Ann <ann@x.org>\nTēma: Sūknis\n\nVecs.`,
    'Jā.',
  ],
  [
    'Outlook in Catalan',
    `Sí.\n\nDe: ${S}\nEnviat el: dimarts, 17 de novembre de 2026 9:00\nPer a: Ann <ann@x.org>\nTema: Bomba\n\nVell.`,
    'Sí.',
  ],
  [
    'Outlook in Japanese',
    `はい。\n\n-----Original Message-----\nFrom: ${S}\nSent: Tuesday, November 17, 2026 9:00 AM\nTo: Ann\nSubject: ポンプ\n\n古い。`,
    'はい。',
  ],
  [
    'Outlook in Taiwan',
    `好的。\n\n寄件者: ${S}\n寄件日期: 2026年11月17日 上午 09:00\n收件者: Ann\n主旨: 泵\n\n舊。`,
    '好的。',
  ],
  ['Outlook in Thai', `ใช่\n\nจาก: ${S}\nส่ง: 17 พฤศจิกายน 2569 9:00\nถึง: Ann\nเรื่อง: ปั๊ม\n\nเก่า`, 'ใช่'],
  [
    'Outlook on the Mac',
    `Yes.\n\nFrom: ${S}\nDate: Tuesday, 17 November 2026 at 09:00\nTo: Ann <ann@x.org>\nSubject: Pump\n\nOld.`,
    'Yes.',
  ],
  [
    'Outlook on the Mac in German',
    `Ja.\n\nVon: ${S}\nDatum: Dienstag, 17. November 2026 um 09:00\nAn: Ann\nBetreff: Pumpe\n\nAlt.`,
    'Ja.',
  ],
  [
    'Outlook with a wrapped list of recipients',
    `Yes.\n\nFrom: ${S}\nSent: Tuesday, November 17, 2026 9:00 AM\nTo: Ann <ann@x.org>; Bob <bob@x.org>;\n Cid <cid@x.org>\nSubject: Pump\n\nOld.`,
    'Yes.',
  ],
  [
    'Outlook with an importance',
    `Yes.\n\nFrom: ${S}\nSent: Tuesday, November 17, 2026 9:00 AM\nTo: Ann\nSubject: Pump\nImportance: High\n\nOld.`,
    'Yes.',
  ],
  ['Gmail', `Yes.\n\nOn Tue, Nov 17, 2026 at 9:00 AM ${S} wrote:\n\n> Old.\n`, 'Yes.'],
  ['Gmail with narrow spaces', `Yes.\n\nOn Tue, Nov 17, 2026 at 9:00\u202fAM ${S} wrote:\n\n> Old.\n`, 'Yes.'],
  [
    'Gmail that forwards',
    `FYI\n\n---------- Forwarded message ---------\nFrom: ${S}\nDate: Tue, Nov 17, 2026 at 9:00 AM\nSubject: Pump\nTo: <ann@x.org>\n\nOld.`,
    'FYI',
  ],
  ['Apple Mail', `Yes.\n\n> On 17. Nov 2026, at 09:00, ${S} wrote:\n> \n> Old.\n`, 'Yes.'],
  [
    'Apple Mail on a phone in German',
    `Ja.\n\nVon meinem iPhone gesendet\n\n> Am 17.11.2026 um 09:00 schrieb ${S}:\n> \n> ﻿Alt.`,
    'Ja.',
  ],
  [
    'Apple Mail in French',
    `Oui.\n\nEnvoyé de mon iPhone\n\n> Le 17 nov. 2026 à 09:00, ${S} a écrit :\n> \n> ﻿Ancien.`,
    'Oui.',
  ],
  [
    'Apple Mail with its signature below the quotation',
    `Yes.\n\nOn 17 Nov 2026, at 09:00, ${S} wrote:\n\n> Old.\n\n--\nAnn Smith\nAcme`,
    'Yes.',
  ],
  [
    'Apple Mail that forwards in German',
    `Siehe unten.\n\nAnfang der weitergeleiteten Nachricht:\n\n> Von: ${S}\n> Betreff: Pumpe\n> Datum: 17. November 2026 um 09:00:00 MEZ\n> An: ann@x.org\n> \n> Alt.`,
    'Siehe unten.',
  ],
  [
    'Thunderbird below the quotation',
    `Am 17.11.26 um 09:00 schrieb ${S}:\n> Ist sie undicht?\n\nJa, seit gestern.\n\n-- \nAnn`,
    `Am 17.11.26 um 09:00 schrieb ${S}:\n> Ist sie undicht?\n\nJa, seit gestern.`,
  ],
  [
    'Thunderbird that forwards',
    `FYI\n\n-------- Forwarded Message --------\nSubject: Pump\nDate: Tue, 17 Nov 2026 09:00:00 +0100\nFrom: ${S}\nTo: ann@x.org\n\nOld.`,
    'FYI',
  ],
  [
    'Thunderbird that forwards in German',
    `Bitte prüfen.\n\n-------- Weitergeleitete Nachricht --------\nBetreff: \tPumpe\nDatum: \tTue, 17 Nov 2026 09:00:00 +0100\nVon: \t${S}\nAn: \tann@x.org\n\nAlt.`,
    'Bitte prüfen.',
  ],
  ['Thunderbird without a date', `Yes.\n\nSupport wrote:\n> Old.\n`, 'Yes.'],
  ['SeaMonkey', `Yes.\n\nSupport wrote on 11/17/26 9:00 AM:\n> Old.\n`, 'Yes.'],
  ['Yahoo', `Yes.\n\n    On Tuesday, November 17, 2026 at 09:00:00 AM GMT+1, ${S} wrote:  \n \n Old.`, 'Yes.'],
  [
    'Yahoo on Android',
    `Yes.\n\nSent from Yahoo Mail on Android \n \n  On Tue, Nov 17, 2026 at 9:00, Support<support@desk.example> wrote:   Old.`,
    'Yes.',
  ],
  [
    'AOL',
    `Yes.\n\n\n-----Original Message-----\nFrom: ${S}\nTo: ann@x.org\nSent: Tue, Nov 17, 2026 9:00 am\nSubject: Pump\n\nOld.`,
    'Yes.',
  ],
  [
    'GMX',
    `Ja.\n \n\nGesendet: Dienstag, 17. November 2026 um 09:00 Uhr\nVon: ${S}\nAn: ann@x.org\nBetreff: Pumpe\nAlt.`,
    'Ja.',
  ],
  [
    'GMX on a phone',
    `Ja.\n\n--\nDiese Nachricht wurde von meinem Android Mobiltelefon mit GMX Mail gesendet.\nAm 17.11.26, 09:00 schrieb Support <support@desk.example>:\n> Alt.`,
    'Ja.',
  ],
  [
    'web.de on a phone',
    `Ja.\n-- \nDiese Nachricht wurde von meinem Android-Gerät mit WEB.DE Mail gesendet.\nAm 17.11.26, 09:00 schrieb "Support" <support@desk.example>:\n\nAlt.`,
    'Ja.',
  ],
  [
    'ProtonMail',
    `Yes.\n\nSent with Proton Mail secure email.\n\nOn Tuesday, November 17th, 2026 at 9:00 AM, ${S} wrote:\n\n> Old.`,
    'Yes.',
  ],
  [
    'ProtonMail before',
    `Yes.\n\nSent with [Proton Mail](https://proton.me/) secure email.\n\n------- Original Message -------\nOn Tuesday, November 17th, 2026 at 9:00 AM, ${S} wrote:\n\n\n> Old.`,
    'Yes.',
  ],
  [
    'Tutanota',
    `Yes.\n\n-- \nSecured with Tuta Mail:\nhttps://tuta.com/free-email\n\n\n17 Nov 2026, 09:00 by support@desk.example:\n\n> Old.`,
    'Yes.',
  ],
  ['Fastmail', `Yes.\n\nOn Tue, 17 Nov 2026, at 9:00 AM, Support wrote:\n> Old.`, 'Yes.'],
  [
    'K-9',
    `Yes.\n\nOn 17 November 2026 09:00:00 CET, ${S} wrote:\n>Old.\n\n-- \nSent from my Android device with K-9 Mail. Please excuse my brevity.`,
    'Yes.',
  ],
  [
    'Samsung',
    `Yes.\n\n\nSent from my Galaxy\n\n\n-------- Original message --------\nFrom: ${S}\nDate: 17/11/2026 09:00 (GMT+01:00)\nTo: ann@x.org\nSubject: Pump\n\nOld.`,
    'Yes.',
  ],
  [
    'Samsung in German',
    `Ja.\n\nVon meinem Galaxy gesendet\n\n-------- Ursprüngliche Nachricht --------\nVon: ${S}\nDatum: 17.11.26 09:00 (GMT+01:00)\nAn: ann@x.org\nBetreff: Pumpe\n\nAlt.`,
    'Ja.',
  ],
  [
    'BlueMail',
    `Yes.\n\nGet BlueMail for Android\n\nOn 17 Nov 2026, at 09:00, Support <support@desk.example> wrote:\n\nOld.`,
    'Yes.',
  ],
  ['Spark', `Yes.\n\nAnn\nOn 17 Nov 2026 at 09:00 +0100, ${S}, wrote:\n> Old.`, 'Yes.\n\nAnn'],
  ['Evolution', `Yes.\n\nOn Tue, 2026-11-17 at 09:00 +0100, Support wrote:\n> Old.`, 'Yes.'],
  ['mutt', `Yes.\n\nOn Tue, Nov 17, 2026 at 09:00:00AM +0100, Support wrote:\n> Old.\n\n-- \nAnn`, 'Yes.'],
  ['Gnus', `Yes.\n\nSupport <support@desk.example> writes:\n\n> Old.`, 'Yes.'],
  ['Claws Mail', `Yes.\n\nOn Tue, 17 Nov 2026 09:00:00 +0100\nSupport <support@desk.example> wrote:\n\n> Old.`, 'Yes.'],
  ['Zoho', `Yes.\n\n\n---- On Tue, 17 Nov 2026 09:00:00 +0100 ${S} wrote ---\n\nOld.`, 'Yes.'],
  [
    'Lotus Notes',
    `Yes.\n\n\n\nFrom:\tSupport <support@desk.example>\nTo:\tAnn/Acme@Acme\nDate:\t17.11.2026 09:00\nSubject:\tPump\n\n\n\nOld.`,
    'Yes.',
  ],
  [
    'Lotus Notes in German',
    `Ja.\n\n\n\nVon:\t"Support" <support@desk.example>\nAn:\tAnn/Acme@Acme\nDatum:\t17.11.2026 09:00\nBetreff:\tPumpe\n\n\n\nAlt.`,
    'Ja.',
  ],
  ['Verse', `Yes.\n\nSupport ---17.11.2026 09:00:00---Old.\n\nFrom: Support`, 'Yes.'],
  [
    'QQ in Chinese',
    `好的。\n\n\n\n\n------------------&nbsp;原始邮件&nbsp;------------------\n发件人: "Support" <support@desk.example>;\n发送时间: 2026年11月17日(星期二) 上午9:00\n收件人: "Ann"<ann@x.org>;\n主题: 泵\n\n旧。`,
    '好的。',
  ],
  ['NetEase', `好的。\n\n\n\n\n\n\n\n在 2026-11-17 09:00:00，"Support" <support@desk.example> 写道：\n旧。`, '好的。'],
  ['Mail.ru', `Да.\n\n\n>Вторник, 17 ноября 2026, 9:00 +03:00 от ${S}:\n> \n>Старое.`, 'Да.'],
  ['Yandex', `Да.\n\n17.11.2026, 09:00, "Support" <support@desk.example>:\n> Старое.\n\n-- \nАнна`, 'Да.'],
  [
    'Seznam',
    `Ano.\n\n---------- Původní e-mail ----------\nOd: ${S}\nKomu: ann@x.org\nDatum: 17. 11. 2026 9:00:00\nPředmět: Čerpadlo\n\nStaré.`,
    'Ano.',
  ],
  ['WP in Poland', `Tak.\n\nDnia 17 listopada 2026 09:00 ${S} napisał(a):\n\nStare.`, 'Tak.'],
  ['Onet in Poland', `Tak.\n\nW dniu 2026-11-17 09:00:00 użytkownik ${S} napisał:\n> Stare.`, 'Tak.'],
  ['Libero', `Sì.\n\nIl 17/11/2026 09:00 CET ${S} ha scritto:\n\n\nVecchio.`, 'Sì.'],
  [
    'Orange in France',
    `Oui.\n\n\n> Message du 17/11/26 09:00\n> De : "Support" <support@desk.example>\n> A : ann@x.org\n> Copie à : \n> Objet : Pompe\n> \n> Ancien.`,
    'Oui.',
  ],
  [
    'Free in France',
    `Oui.\n\n----- Mail original -----\nDe: "Support" <support@desk.example>\nÀ: "Ann" <ann@x.org>\nEnvoyé: Mardi 17 Novembre 2026 09:00:00\nObjet: Pompe\n\nAncien.`,
    'Oui.',
  ],
  ['IONOS', `Ja.\n\n> Support <support@desk.example> hat am 17.11.2026 09:00 CET geschrieben:\n> \n>  \n> Alt.`, 'Ja.'],
  [
    'IONOS with words below',
    `Ja.\n\n> Support <support@desk.example> hat am 17.11.2026 09:00 CET geschrieben:\n> \n> Alt.\n\nUnd bitte rufen Sie an.`,
    'Ja.\n\nUnd bitte rufen Sie an.',
  ],
  [
    'Open-Xchange without marks',
    `Ja.\n\nSupport <support@desk.example> hat am 17.11.2026 09:00 CET geschrieben:\n\n\nAlt.`,
    'Ja.',
  ],
  ['Roundcube', `Ja.\n\nAm 2026-11-17 09:00, schrieb Support:\n> Alt.`, 'Ja.'],
  ['Roundcube in English', `Yes.\n\nOn 2026-11-17 09:00, Support wrote:\n> Old.`, 'Yes.'],
  ['Horde', `Ja.\n\nZitat von Support <support@desk.example>:\n\n> Alt.`, 'Ja.'],
  ['SquirrelMail', `Yes.\n\n> Old.\n> Older.\n`, 'Yes.'],
  ['Freshdesk', `Yes.\n\nOn Tue, 17 Nov at 9:00 AM , Support <support@desk.example> wrote:\nOld.`, 'Yes.'],
  [
    'Zendesk as the customer',
    `##- Please type your reply above this line -##\n\nYour request (5) has been updated.\n\nKim: We will come.`,
    'Your request (5) has been updated.\n\nKim: We will come.',
  ],
  [
    'Jira as the customer',
    `—-—-—-—\nReply above this line.\n\nKim commented:\n\nWe will come.\n\nView request · Turn off this request's notifications`,
    "Kim commented:\n\nWe will come.\n\nView request · Turn off this request's notifications",
  ],
  [
    'a form',
    'Name: Ann\nE-Mail: ann@x.org\nDate: 17.11.2026 09:00\nMessage: It leaks.',
    'Name: Ann\nE-Mail: ann@x.org\nDate: 17.11.2026 09:00\nMessage: It leaks.',
  ],
  [
    'somebody with a table',
    'From: 1 Jan 2026\nTo: 31 Dec 2026\nSubject: licence\n\nIs it right?',
    'From: 1 Jan 2026\nTo: 31 Dec 2026\nSubject: licence\n\nIs it right?',
  ],
  ['somebody with a log', 'It says:\n> error 5\n> error 6\nWhat now?', 'It says:\n> error 5\n> error 6\nWhat now?'],
  [
    'somebody who ends with a rule',
    'One.\n\n---\n\nTwo: can you call me?\n\n---',
    'One.\n\n---\n\nTwo: can you call me?\n\n---',
  ],
  [
    'somebody who sent it from a place',
    'The parcel was lost.\n\nSent from my office in Berlin on Monday, as you asked me to do.',
    'The parcel was lost.\n\nSent from my office in Berlin on Monday, as you asked me to do.',
  ],
]

/** Mail in HTML alone. */
const PAGES: [program: string, html: string, reply: string][] = [
  [
    'Gmail',
    '<div dir="ltr">Yes.</div><br><div class="gmail_quote"><div dir="ltr" class="gmail_attr">On Tue, Nov 17, 2026 at 9:00 AM Support &lt;<a href="mailto:support@desk.example">support@desk.example</a>&gt; wrote:<br></div><blockquote class="gmail_quote">Old.</blockquote></div>',
    'Yes.',
  ],
  [
    'Outlook',
    '<div class="WordSection1"><p class="MsoNormal">Yes.</p><div><div style="border:none;border-top:solid #E1E1E1 1.0pt"><p class="MsoNormal"><b>From:</b> Support &lt;support@desk.example&gt; <br><b>Sent:</b> Tuesday, November 17, 2026 9:00 AM<br><b>To:</b> Ann<br><b>Subject:</b> Pump</p></div></div><p class="MsoNormal">Old.</p></div>',
    'Yes.',
  ],
  [
    'Outlook on the web',
    '<div>Yes.</div><div id="appendonsend"></div><hr style="display:inline-block;width:98%"><div id="divRplyFwdMsg"><font><b>From:</b> Support &lt;support@desk.example&gt;<br><b>Sent:</b> Tuesday, November 17, 2026 9:00 AM<br><b>To:</b> Ann &lt;ann@x.org&gt;<br><b>Subject:</b> Pump</font></div><div>Old.</div>',
    'Yes.',
  ],
  [
    'Apple Mail',
    '<html><body>Yes.<br id="lineBreakAtBeginningOfMessage"><div><br><blockquote type="cite"><div>On 17. Nov 2026, at 09:00, Support &lt;support@desk.example&gt; wrote:</div><br><div>Old.</div></blockquote></div><br></body></html>',
    'Yes.',
  ],
  [
    'Apple Mail with words below',
    '<html><body>Yes.<div><blockquote type="cite"><div>On 17. Nov 2026, at 09:00, Support wrote:</div><div>Old.</div></blockquote></div><div>And please call.</div></body></html>',
    'Yes.\n\nAnd please call.',
  ],
  [
    'Thunderbird',
    '<p>Ja.</p><div class="moz-cite-prefix">Am 17.11.26 um 09:00 schrieb Support:<br></div><blockquote type="cite" cite="mid:1@x"><p>Alt.</p></blockquote><div class="moz-signature">-- <br>Ann</div>',
    'Ja.',
  ],
  [
    'GMX',
    '<div>Ja.<div name="quote"><div style="margin:0 0 10px 0;"><b>Gesendet:</b>&nbsp;Dienstag, 17. November 2026 um 09:00 Uhr<br/><b>Von:</b>&nbsp;Support &lt;support@desk.example&gt;<br/><b>An:</b>&nbsp;ann@x.org<br/><b>Betreff:</b>&nbsp;Pumpe</div><div>Alt.</div></div></div>',
    'Ja.',
  ],
  [
    'Yahoo',
    '<div>Yes.</div><div id="yahoo_quoted_1"><div><div>On Tuesday, November 17, 2026 at 09:00:00 AM GMT+1, Support &lt;support@desk.example&gt; wrote: </div><div><br></div><div>Old.</div></div></div>',
    'Yes.',
  ],
  [
    'ProtonMail',
    '<div>Yes.</div><div class="protonmail_quote">On Tuesday, November 17th, 2026 at 9:00 AM, Support &lt;support@desk.example&gt; wrote:<br><blockquote type="cite">Old.</blockquote><br></div>',
    'Yes.',
  ],
  [
    'a Google Group',
    '<div>Yes.</div><div class="gmail_quote"><div>On Tue, Nov 17, 2026 at 9:00 AM Support &lt;support@desk.example&gt; wrote:</div><blockquote>Old.</blockquote></div><p></p>-- <br>You received this message because you are subscribed to the Google Groups &quot;Help&quot; group.<br>To unsubscribe from this group, send an email to <a href="mailto:help+unsubscribe@googlegroups.com">help+unsubscribe@googlegroups.com</a>.<br>',
    'Yes.',
  ],
]

async function replyTo(type: string, body: string): Promise<string | null> {
  const header = `From: Ann <ann@x.org>\r\nSubject: Re: Pump\r\nIn-Reply-To: <1@x>\r\nContent-Type: ${type}; charset=utf-8`
  return (await parseMail(Buffer.from(`${header}\r\n\r\n${body.replace(/\n/g, '\r\n')}`))).reply_text
}

test.each(TEXTS)('the new part of an answer of %s is known', async (_, text, reply) => {
  expect(await replyTo('text/plain', text)).toBe(reply)
})

test.each(PAGES)('the new part of an answer of %s in HTML is known', async (_, html, reply) => {
  expect(await replyTo('text/html', html)).toBe(reply)
})
