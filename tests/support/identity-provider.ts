/** An identity provider on loopback that answers as a test says: right, wrong, slow, never. */

import ipaddr from 'ipaddr.js'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { unescapeHtml } from '../../src/base/html/text'
import type { Answer } from './api'
import { issueCertificate } from './certificates'
import { withSettings } from './settings'

type Keys = Awaited<ReturnType<typeof generateKeyPair>> & { kid: string }

export type StubProvider = Awaited<ReturnType<typeof startStubProvider>>

/** Settings under which providers on loopback may be used. */
export async function trustLoopbackProviders() {
  const { ca_file } = await issueCertificate()
  return withSettings({ IDENTITY_ALLOWED_NETWORKS: [ipaddr.parseCIDR('127.0.0.0/8')], IDENTITY_CA_FILE: ca_file })
}

/** The address at the provider to which `/start` leads: by a redirect, or by the link of its page. */
export function addressOf({ headers, text }: Pick<Answer, 'headers' | 'text'>): URL {
  const [, link = ''] = /<a [^>]*href="([^"]*)"/.exec(text) ?? []
  return new URL(headers.get('location') ?? unescapeHtml(link))
}

export async function startStubProvider() {
  const { cert, key } = await issueCertificate()
  let keys = await newKeys()
  const counted = { jwks: 0, token: 0 }
  const stub = {
    /** Claims of the next ID tokens, besides those of every token. */
    claims: {} as JWTPayload,
    /** The key that signs the next ID tokens. */
    algorithm: 'ES256',
    /** Answers instead of the usual ones, by path. */
    answers: {} as Record<string, () => Response | Promise<Response>>,
    /** Codes by what the service asked for. */
    nonce: '',
    challenge: '',
  }
  const server: Bun.Server<unknown> = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    tls: { cert, key },
    async fetch(request): Promise<Response> {
      const { pathname } = new URL(request.url)
      const given = stub.answers[pathname]
      if (given) return given()
      if (pathname === '/.well-known/openid-configuration') return Response.json(metadata())
      if (pathname === '/jwks') {
        counted.jwks++
        return Response.json({ keys: [{ ...(await exportJWK(keys.publicKey)), kid: keys.kid, alg: 'ES256' }] })
      }
      if (pathname === '/token') {
        counted.token++
        const form = new URLSearchParams(await request.text())
        const verifier = new Bun.CryptoHasher('sha256').update(form.get('code_verifier') ?? '').digest('base64url')
        if (verifier !== stub.challenge) return Response.json({ error: 'invalid_grant' }, { status: 400 })
        return Response.json({ token_type: 'Bearer', access_token: 'x', id_token: await sign(stub.claims) })
      }
      return new Response(null, { status: 404 })
    },
  })
  const issuer = `https://127.0.0.1:${server.port}`
  function metadata(): Record<string, string> {
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
    }
  }
  const now_s = () => Math.floor(Date.now() / 1000)
  /** Signs a token; a claim that is undefined is left out. */
  function sign(
    claims: JWTPayload,
    { kid = keys.kid, key = keys.privateKey }: { kid?: string; key?: CryptoKey } = {},
  ): Promise<string> {
    const all = { iss: issuer, aud: 'desk', iat: now_s(), exp: now_s() + 300, nonce: stub.nonce, ...claims }
    return new SignJWT(JSON.parse(JSON.stringify(all))).setProtectedHeader({ alg: stub.algorithm, kid }).sign(key)
  }
  return Object.assign(stub, {
    issuer,
    counted,
    metadata,
    sign,
    rotate: async () => {
      keys = await newKeys()
    },
    [Symbol.dispose]: () => void server.stop(true),
  })
}

async function newKeys(): Promise<Keys> {
  return { ...(await generateKeyPair('ES256')), kid: crypto.randomUUID() }
}
