/**
 * The page that a link of a letter opens: a form without a script. Opening it counts for nothing, since scanners of
 * mail follow links.
 */
import { RATING_SCORES } from '../../base/db/schema'
import { escapeHtml } from '../../base/html/text'
import type { Language } from '../../base/language'
import { ratingWords } from '../ratings/rating-words'

/** Nothing but the style sheet of the console is loaded, and the form leads here alone. */
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex',
}

type Shown = {
  organization_name: string
  code: string
  /** The score that is chosen at first, and what the contact wrote. */
  score: string | null
  comment: string
  /** The fault of what was sent. */
  fault?: 'choose' | 'too_long'
}

/** Shows the question. */
export function questionPage(language: Language, shown: Shown): Response {
  const { organization_name, code, score, comment, fault } = shown
  const words = ratingWords(language)
  const choices = RATING_SCORES.map((one) => {
    const checked = one === score ? ' checked' : ''
    return `<label><input type="radio" name="score" value="${one}" required${checked}> ${words[one]}</label>`
  })
  const content = `
      <p>${escapeHtml(organization_name)}, ${escapeHtml(code)}</p>
      ${fault ? `<p role="alert" class="fault">${words[fault]}</p>` : ''}
      <form method="post">
        <fieldset class="choices"><legend class="unseen">${words.question}</legend>${choices.join('')}</fieldset>
        <label class="field" for="comment"><span>${words.comment}</span>
          <textarea id="comment" name="comment" rows="5" maxlength="1000">
${escapeHtml(comment)}</textarea>
        </label>
        <p class="buttons"><button type="submit" class="main">${words.send}</button></p>
      </form>`
  return page(language, words.question, content, fault ? 422 : 200)
}

/** Thanks for a rating. */
export function thanksPage(language: Language): Response {
  const words = ratingWords(language)
  return page(language, words.thanks, `<p role="status">${words.may_change}</p>`, 200)
}

/** Says that a link is good for nothing: nobody learns why. */
export function overPage(language: Language): Response {
  const words = ratingWords(language)
  return page(language, words.is_over, `<p>${words.is_over_why}</p>`, 404)
}

/** Says that an address has asked too often. */
export function limitPage(language: Language, headers: Record<string, string>): Response {
  const words = ratingWords(language)
  return page(language, words.question, `<p>${words.too_often}</p>`, 429, headers)
}

function page(language: Language, title: string, content: string, status: number, headers = {}): Response {
  const { lang } = ratingWords(language)
  const html = `<!doctype html>
<html lang="${lang}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${title}</title>
    <link rel="icon" href="../console/icon.svg" type="image/svg+xml">
    <link rel="stylesheet" href="../console/console.css">
  </head>
  <body>
    <main class="sign-in">
      <h1>${title}</h1>
      ${content}
    </main>
  </body>
</html>
`
  return new Response(html, { status, headers: { ...HEADERS, ...headers } })
}
