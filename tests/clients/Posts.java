import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.io.ByteArrayInputStream;

/** Posts each BODY to URL with Java's own client as it is by default, which offers HTTP/2: with a length, and in
 * chunks. Prints the status, the version and the first line of each answer. */
class Posts {
    public static void main(String[] given) throws Exception {
        HttpClient client = HttpClient.newHttpClient();
        for (int at = 1; at < given.length; at++) {
            byte[] body = given[at].getBytes("UTF-8");
            for (var publisher : new HttpRequest.BodyPublisher[] {
                    BodyPublishers.ofByteArray(body), BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(body))}) {
                var request = HttpRequest.newBuilder(URI.create(given[0]))
                        .header("content-type", "application/json").POST(publisher).build();
                var answer = client.send(request, BodyHandlers.ofString());
                System.out.println(answer.statusCode() + " " + answer.version() + " " + answer.body().lines().findFirst().orElse(""));
            }
        }
    }
}
