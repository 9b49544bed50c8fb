/**
 * Reads and writes the objects of an S3 bucket, in parts and streams. Standard twin: @aws-sdk/client-s3 with
 * @aws-sdk/lib-storage.
 */
export { S3Client, type S3Options } from 'bun'
